/** All runs as a table that is always up to date. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { address, post, useGet, useNews, useNow } from "./api";
import { Spark } from "./chart";
import { age, short, whole } from "./format";
import { Complaint, Dialog, Doing, Empty, useSettled } from "./parts";
import { apiRun, change, go, runPath, usePlace } from "./place";
import { type Game, Train, Welcome } from "./welcome";

export interface Row {
  key: string;
  root: number;
  name: string;
  game: string;
  learner: string;
  algorithm: string;
  status: "live" | "finished" | "stopped";
  step: number;
  speed: number | null;
  best: { name: string; mean: number; low: number | null; high: number | null; words: string } | null;
  spark: number[];
  changed: number;
  tags: string[];
  note: string;
}

interface Table {
  version: number;
  complete: boolean;
  total: number;
  found: number;
  roots: string[];
  rows: Row[];
}

const COLUMNS: [string, string, string][] = [
  ["name", "Run", ""], ["status", "Status", ""], ["game", "Game", ""], ["learner", "Learner", ""],
  ["step", "Steps", "n"], ["speed", "Steps/s", "n"], ["best", "Best", ""], ["", "Return", ""], ["age", "Age", "n"],
];
const PAGE = 100;

export function Runs() {
  const { query } = usePlace();
  const [text, setText] = useState(query.get("text") ?? "");
  const settled = useSettled(text);
  const sort = query.get("sort") ?? "age";
  const reverse = query.get("reverse") === "true";
  const offset = Number(query.get("offset") ?? 0) || 0;
  const [picked, setPicked] = useState<string[]>([]);
  const [open, setOpen] = useState<Row | null>(null);
  const [done, setDone] = useState(0);
  const news = useNews();
  const now = useNow();
  const filter = useRef<HTMLInputElement>(null);
  const { data, error, loading } = useGet<Table>(address("/api/runs", { text: settled, sort, reverse, offset, limit: PAGE }), `${news}-${done}`);

  useEffect(() => change({ text: settled }), [settled]);
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (event.key !== "/" || event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement) return;
      event.preventDefault();
      filter.current?.focus();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);

  if (!data) return error ? <Complaint text={error} /> : <p class="quiet">{loading && "Looking…"}</p>;
  if (data.total === 0 && data.complete) return <Welcome roots={data.roots} />;
  const order = (name: string): void => change({ sort: name === "age" ? null : name, reverse: name === sort && !reverse, offset: null });
  const toggle = (key: string): void => setPicked((old) => (old.includes(key) ? old.filter((one) => one !== key) : [...old, key]));
  const live = data.rows.filter((row) => row.status === "live").length;

  return (
    <>
      <header class="head">
        <h1>Runs</h1>
        <p class="lead">
          {whole(data.total)} {data.total === 1 ? "run" : "runs"}{live > 0 && `, ${live} live`}{!data.complete && " so far, still looking…"}
          {data.roots.length > 1 && ` in ${data.roots.length} folders`}
        </p>
        <label class="filter">
          <span class="sr">Filter runs</span>
          <input ref={filter} type="search" placeholder="Filter: name, game, #tag, live …  ( / )" value={text}
            onInput={(event) => { setText(event.currentTarget.value); if (offset) change({ offset: null }); }} />
        </label>
        <span class="picked">
          {picked.length > 0 && (
            <>
              <button type="button" onClick={() => go(address(runPath(picked[0] ?? ""), { with: picked.slice(1) }))}>
                {picked.length === 1 ? "Open" : `Overlay ${picked.length} runs`}
              </button>
              {picked.length > 1 && (
                <button type="button" onClick={() => go(address("/compare", { run: picked }))}>Compare</button>
              )}
              <button type="button" class="plain" onClick={() => setPicked([])}>clear</button>
            </>
          )}
        </span>
      </header>
      <Complaint text={error} />
      <details class="start"><summary>Start a training</summary><Starting /></details>
      {data.found === 0 ? <Empty title="No run fits"><p>No run has all of these words. <button type="button" class="plain" onClick={() => setText("")}>Show all {data.total}</button></p></Empty> : (
        <div class="wide">
          <table class="runs">
            <thead>
              <tr>
                <th><span class="sr">Choose</span></th>
                {COLUMNS.map(([name, words, kind]) => (
                  <th key={words} class={kind} aria-sort={name && sort === name ? (reverse ? "descending" : "ascending") : "none"}>
                    {name ? <button type="button" class="plain" onClick={() => order(name)}>{words}{sort === name && (reverse ? " ↑" : " ↓")}</button> : words}
                  </th>
                ))}
                <th><span class="sr">More</span></th>
              </tr>
            </thead>
            <Rows rows={data.rows} picked={picked} now={now} toggle={toggle} filter={setText} open={setOpen} />
          </table>
        </div>
      )}
      {data.found > PAGE && (
        <nav class="pages" aria-label="Pages of runs">
          <button type="button" disabled={offset === 0} onClick={() => change({ offset: Math.max(0, offset - PAGE) || null })}>‹ newer</button>
          <span>{whole(offset + 1)}–{whole(Math.min(data.found, offset + PAGE))} of {whole(data.found)}</span>
          <button type="button" disabled={offset + PAGE >= data.found} onClick={() => change({ offset: offset + PAGE })}>older ›</button>
        </nav>
      )}
      {open && <Manage row={open} close={() => { setOpen(null); setDone(done + 1); }} />}
    </>
  );
}

interface RowsProps {
  rows: Row[];
  picked: string[];
  now: number;
  toggle: (key: string) => void;
  filter: (text: string) => void;
  open: (row: Row) => void;
}

/** The body of the table; typing in the filter leaves it alone until there is an answer. */
function Rows({ rows, picked, now, toggle, filter, open }: RowsProps) {
  return useMemo(() => (
    <tbody>
      {rows.map((row) => (
        <tr key={row.key} class={row.status}>
          <td class="pick"><input type="checkbox" aria-label={`Choose ${row.name}`} checked={picked.includes(row.key)} onChange={() => toggle(row.key)} /></td>
          <td class="name">
            <a href={runPath(row.key)}>{row.name}</a>
            {row.tags.map((tag) => <button type="button" key={tag} class="tag" onClick={() => filter(`#${tag}`)}>{tag}</button>)}
            {row.note && <small class="note" title={row.note}>{row.note.split("\n")[0]}</small>}
          </td>
          <td class="status"><i class={`lamp ${row.status}`} />{row.status}</td>
          <td class="game">{row.game}</td>
          <td class="learner">{row.learner} {row.algorithm}</td>
          <td class="n step" title={whole(row.step)}>{short(row.step)}</td>
          <td class="n speed">{row.status === "live" && row.speed !== null ? whole(row.speed) : ""}</td>
          <td class="best"><Best best={row.best} /></td>
          <td class="curve"><Spark values={row.spark} /></td>
          <td class="n age" title={new Date(row.changed * 1000).toLocaleString()}>{age(now - row.changed)}</td>
          <td class="more"><button type="button" class="plain" aria-label={`Rename, tag or delete ${row.name}`} onClick={() => open(row)}>⋯</button></td>
        </tr>
      ))}
    </tbody>
  ), [rows, picked, now]);
}

function Starting() {
  const { data } = useGet<{ games: Game[] }>("/api/games");
  return data ? <Train games={data.games.filter((one) => one.shipped)} /> : null;
}

function Best({ best }: { best: Row["best"] }) {
  if (!best) return <span class="quiet">not judged</span>;
  const [figure, ...span] = best.words.split(" (");
  return <>{figure}{span.length > 0 && <small class="quiet"> ({span.join(" (")}</small>}</>;
}

/** What may be done to a run: all of it asks first. */
export function Manage({ row, close, gone }: { row: Row; close: () => void; gone?: () => void }) {
  const [name, setName] = useState(row.name);
  const [tags, setTags] = useState(row.tags.join(" "));
  const [note, setNote] = useState(row.note);
  const [typed, setTyped] = useState("");
  const wanted = tags.split(/[\s,#]+/).filter(Boolean);
  const words = async (): Promise<void> => {
    const remove = row.tags.filter((tag) => !wanted.includes(tag));
    await post(apiRun(row.key, "/words"), { add: wanted, remove, note });
    close();
  };
  const rename = async (): Promise<void> => {
    await post(apiRun(row.key, "/rename"), { name });
    close();
    gone?.();
  };
  const remove = async (): Promise<void> => {
    await post(apiRun(row.key, "/delete"), { name: typed });
    close();
    gone?.();
  };
  return (
    <Dialog title={row.name} close={close}>
      <label>Tags <input value={tags} onInput={(event) => setTags(event.currentTarget.value)} placeholder="baseline best" /></label>
      <label>Note <textarea rows={3} value={note} onInput={(event) => setNote(event.currentTarget.value)} /></label>
      <div class="row"><Doing label="Save tags and note" work={words} /></div>
      <hr />
      <label>New name <input value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
      <div class="row"><Doing label={`Rename to ${name || "…"}`} work={rename} disabled={!name || name === row.name} /></div>
      <hr />
      <label>To delete it for ever, type its name <input value={typed} onInput={(event) => setTyped(event.currentTarget.value)} placeholder={row.name} /></label>
      <div class="row"><Doing label="Delete run" kind="danger" work={remove} disabled={typed !== row.name} /></div>
      <form method="dialog" class="close"><button type="submit">Close</button></form>
    </Dialog>
  );
}
