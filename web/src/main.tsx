/** The frame around every page: where one can go, whether the server is there, who may look. */
import { type ComponentType, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, listen, post, useConnected } from "./api";
import { Compare } from "./compare";
import { Knowledge } from "./knowledge";
import pages from "./pages.json";
import { Complaint, Doing, Empty } from "./parts";
import { followLinks, usePlace } from "./place";
import { Review } from "./review";
import { Run } from "./run";
import { Runs } from "./runs";
import { Seeds } from "./seeds";
import { Services } from "./services";
import "./style.css";
import { Watch } from "./watch";

const SHOWN: Record<keyof typeof pages, ComponentType> = { "": Runs, run: Run, watch: Watch, review: Review, seeds: Seeds, compare: Compare, knowledge: Knowledge, services: Services };
const TABS = Object.entries(pages).filter(([, words]) => words);
const THEMES = ["auto", "light", "dark"] as const;

function setTheme(theme: string): void {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function kept(name: string): string {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

function Theme() {
  const [theme, set] = useState<string>(kept("theme") || "auto");
  useEffect(() => {
    setTheme(theme);
    try {
      localStorage.setItem("theme", theme);
    } catch {
      return;
    }
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme as (typeof THEMES)[number]) + 1) % THEMES.length] ?? "auto";
  return <button type="button" class="plain theme" title={`Colours: ${theme}; then ${next}`} onClick={() => set(next)}>{theme === "dark" ? "☾" : theme === "light" ? "☀" : "◐"}<span class="sr">Colours: {theme}</span></button>;
}

function Shown({ path }: { path: string }) {
  const word = path.split("/")[1] ?? "";
  if (word in pages) {
    const Page = SHOWN[word as keyof typeof pages];
    return <Page />;
  }
  return <Empty level={1} title="Nothing here"><p>There is no page at <code>{path}</code>.</p><p class="row"><a class="button main" href="/">To the runs</a> <a class="button" href="/watch">Watch a game</a></p></Empty>;
}

function Frame({ version }: { version: string }) {
  const { path } = usePlace();
  const here = path.split("/")[1] ?? "";
  const connected = useConnected();
  return (
    <>
      <a class="skip" href="#main">To the content</a>
      <nav class="bar" aria-label="Pages">
        <a class="mark" href="/">JimBot</a>
        {TABS.map(([word, words]) => (
          <a key={word} href={`/${word}`} aria-current={word === here || (word === "" && here === "run") ? "page" : undefined}>{words}</a>
        ))}
        <span class="version">{version}</span>
        <Theme />
      </nav>
      {!connected && <p class="lost" role="status">The server does not answer. What you see is its last answer; trying again…</p>}
      <main id="main"><Shown path={path} /></main>
    </>
  );
}

interface Hello {
  version: string;
  token_needed: boolean;
}

function Login({ first, enter }: { first: string; enter: () => void }) {
  const [token, setToken] = useState(first);
  const work = async (): Promise<void> => {
    await post("/api/login", { token });
    enter();
  };
  return (
    <main id="main">
      <Empty level={1} title="JimBot asks for a token">
        <p>It is one of the lines of the token file that the page was started with.</p>
        <label>Token <input type="password" autocomplete="current-password" value={token} onInput={(event) => setToken(event.currentTarget.value)} /></label>
        <div class="row"><Doing label="Enter" work={work} disabled={!token} /></div>
      </Empty>
    </main>
  );
}

function App() {
  const [hello, setHello] = useState<Hello | null>(null);
  const [error, setError] = useState("");
  const ask = (): void => {
    get<Hello>("/api/hello").then((found) => {
      setHello(found);
      setError("");
      if (!found.token_needed) listen();
    }, (problem: Error) => {
      setError(`${problem.message} Trying again…`);
      setTimeout(ask, 2000);
    });
  };
  useEffect(ask, []);
  if (!hello) return <main id="main"><Complaint text={error} /></main>;
  if (hello.token_needed) return <Login first={new URLSearchParams(location.hash.slice(1)).get("token") ?? ""} enter={() => location.replace("/")} />;
  return <Frame version={hello.version} />;
}

setTheme(kept("theme") || "auto");
followLinks();
render(<App />, document.body);
