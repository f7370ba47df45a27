/** Asking the server, and hearing from it. */
import { useEffect, useRef, useState } from "preact/hooks";

export class Refusal extends Error {
  constructor(message: string, readonly status: number) {
    super(message);
  }
}

export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>;

export function address(path: string, query: Query = {}): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) words.append(name, String(one));
  }
  const text = words.toString();
  return text ? `${path}?${text}` : path;
}

async function answered<T>(answer: Response): Promise<T> {
  if (answer.ok) return (await answer.json()) as T;
  const body = await answer.json().catch(() => ({}));
  if (answer.status === 401 && !answer.url.endsWith("/api/login")) location.reload();
  throw new Refusal(String(body.error ?? `The server answered ${answer.status}.`), answer.status);
}

async function asked<T>(where: string, how: RequestInit): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(where, how);
  } catch (problem) {
    if (problem instanceof DOMException && problem.name === "AbortError") throw problem;
    throw new Refusal("The server does not answer.", 0);
  }
  return answered<T>(answer);
}

export const get = <T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> =>
  asked<T>(address(path, query), { signal: signal ?? null });

export const post = <T>(path: string, body: unknown): Promise<T> =>
  asked<T>(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

export interface Asked<T> {
  data: T | null;
  error: string;
  loading: boolean;
}

/** The answer at an address; asked again when the address or `stamp` changes, the old one shown meanwhile. */
export function useGet<T>(where: string | null, stamp: unknown = 0): Asked<T> {
  const [state, setState] = useState<Asked<T> & { where: string | null }>({ data: null, error: "", loading: true, where });
  useEffect(() => {
    if (where === null) return;
    const stop = new AbortController();
    get<T>(where, {}, stop.signal).then(
      (data) => setState({ data, error: "", loading: false, where }),
      (problem: Error) => {
        if (problem.name === "AbortError") return;
        setState((old) => ({ data: old.where === where ? old.data : null, error: problem.message, loading: false, where }));
      },
    );
    return () => stop.abort();
  }, [where, stamp]);
  return state;
}

// --- news ---

interface News {
  version: number;
  changed: string[] | null;
}
type Listener = (news: News) => void;

const versions = new Map<string, number>();
let unnamed = 0;

/** Another number when a run may have changed. */
export const versionOf = (key: string): number => (versions.get(key) ?? 0) + unnamed;

function note(changed: string[] | null): void {
  if (changed) for (const key of changed) versions.set(key, (versions.get(key) ?? 0) + 1);
  else unnamed += 1;
}

const listeners = new Set<Listener>();
const watchers = new Set<(connected: boolean) => void>();
let connected = true;

function tell(now: boolean): void {
  if (now === connected) return;
  connected = now;
  for (const watcher of watchers) watcher(now);
}

/** Opens the stream of news; a server that goes away is asked again every two seconds. */
export function listen(): void {
  const source = new EventSource("/api/events");
  source.addEventListener("open", () => tell(true));
  source.addEventListener("news", (event) => {
    tell(true);
    const news = JSON.parse((event as MessageEvent<string>).data) as News;
    note(news.changed);
    for (const listener of listeners) listener(news);
  });
  source.addEventListener("error", () => {
    tell(false);
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  });
}

export function useConnected(): boolean {
  const [now, setNow] = useState(connected);
  useEffect(() => {
    watchers.add(setNow);
    return () => void watchers.delete(setNow);
  }, []);
  return now;
}

/** A number that grows when something changed: one of `keys`, or anything if there are none. At most once a second. */
export function useNews(keys: readonly string[] | null = null): number {
  const [stamp, setStamp] = useState(0);
  const wanted = useRef(keys);
  wanted.current = keys;
  useEffect(() => {
    let due = 0;
    let last = 0;
    const listener: Listener = (news) => {
      const about = wanted.current;
      if (about && news.changed && !news.changed.some((key) => about.includes(key))) return;
      if (due) return;
      const wait = Math.max(0, 1000 - (Date.now() - last));
      due = window.setTimeout(() => {
        due = 0;
        last = Date.now();
        setStamp((old) => old + 1);
      }, wait);
    };
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      clearTimeout(due);
    };
  }, []);
  return stamp;
}

/** Now, in seconds, renewed once in a while. */
export function useNow(every = 10): number {
  const [now, setNow] = useState(Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), every * 1000);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}
