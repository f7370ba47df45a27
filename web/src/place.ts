/** Where one is: the address of the page, and going elsewhere without loading it anew. */
import { useEffect, useState } from "preact/hooks";
import { address, type Query } from "./api";

export interface Place {
  path: string;
  query: URLSearchParams;
  hash: string;
}

const read = (): Place => ({
  path: location.pathname,
  query: new URLSearchParams(location.search),
  hash: location.hash.slice(1),
});

const followers = new Set<() => void>();
const announce = (): void => followers.forEach((follow) => follow());

window.addEventListener("popstate", announce);
window.addEventListener("hashchange", announce);

export function usePlace(): Place {
  const [place, setPlace] = useState(read);
  useEffect(() => {
    const follow = (): void => setPlace(read());
    followers.add(follow);
    return () => void followers.delete(follow);
  }, []);
  return place;
}

export function go(where: string, replace = false): void {
  const stay = new URL(where, location.href).pathname === location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", where);
  if (!stay) scrollTo(0, 0);
  announce();
}

/** The same page with other words in its address. */
export function change(words: Query, replace = true): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(words)) {
    query.delete(name);
    if (value === null || value === undefined || value === "" || value === false) continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  const text = query.toString();
  go(`${location.pathname}${text ? `?${text}` : ""}${location.hash}`, replace);
}

/** Links inside the page are followed without loading it anew; everything else is left to the browser. */
export function followLinks(): void {
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest?.("a[href]");
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || link.target || link.hasAttribute("download")) return;
    if (link.origin !== location.origin || link.pathname.startsWith("/api/")) return;
    if (link.pathname === location.pathname && link.search === location.search && link.hash) return;
    event.preventDefault();
    go(link.href);
  });
}

export const runPath = (key: string): string => {
  const [root, ...name] = key.split("/");
  return `/run/${root}/${encodeURIComponent(name.join("/"))}`;
};

export const apiRun = (key: string, rest = "", query: Query = {}): string =>
  address(`/api/runs/${runPath(key).slice(5)}${rest}`, query);
