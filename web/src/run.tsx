/** One run: live curves, alone or over others; settings and their difference; events, checkpoints, the report. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { address, useGet, useNews, useNow } from "./api";
import { Chart, type Line, type Span } from "./chart";
import { type Curve, useCurves } from "./curves";
import { age, bytes, date, percent, plain, short, whole } from "./format";
import { Choice, Complaint, Empty, Scroll, Tile, Typed, useSettled } from "./parts";
import { apiRun, change, go, usePlace } from "./place";
import { Manage, type Row } from "./runs";

interface Group {
  id: string;
  title: string;
  names: string[];
  together: "" | "lines" | "stack";
}

interface Interval {
  mean: number;
  low: number;
  high: number;
}

interface RunDocument {
  row: Row | null;
  path: string;
  config: Record<string, unknown>;
  complaint: string;
  note: string;
  evaluation: { games?: number; step?: number; seeds?: string; win_rate?: Interval | null; mean_return?: Interval; ladder?: { stat: string | null }; stats?: Record<string, Interval> } | null;
  checkpoints: { name: string; step: number | null; best: boolean; size: number; time: number; metrics: Record<string, unknown> | null }[];
  report: boolean;
  rows: number;
  groups: Group[];
  latest: Record<string, number>;
}

type Axis = "step" | "time" | "clock" | "games";
const AXES: [Axis, string][] = [["step", "steps"], ["time", "hours trained"], ["clock", "hours by the clock"], ["games", "games"]];
const SHARES = /(_frac|_share|\/won|win_rate)$/;
const FIRST = ["stats/won", "train/mean_episode_return", "train/mean_episode_length"];
const CLOSED = new Set(["learning", "health", "speed"]);
const MOST_AREAS = 7;

const formatOf = (name: string): ((value: number) => string) => (SHARES.test(name) ? percent : short);

export function Run() {
  const { path, query } = usePlace();
  const key = decodeURIComponent(path.slice("/run/".length));
  const others = query.getAll("with");
  const keys = [key, ...others];
  const news = useNews(keys);
  const now = useNow();
  const [managing, setManaging] = useState(false);
  const { data, error } = useGet<RunDocument>(apiRun(key), news);
  const axis = (query.get("x") ?? "step") as Axis;
  const log = query.get("log") === "true";
  const [smooth, setSmooth] = useState(Number(query.get("smooth") ?? 0.5));
  const settled = useSettled(smooth, 150);
  const [span, setSpan] = useState<Span | null>(null);
  useEffect(() => change({ smooth: settled === 0.5 ? null : settled }), [settled]);
  useEffect(() => setSpan(null), [axis, key]);

  if (!data) return error ? <Gone text={error} /> : <p class="quiet">Opening…</p>;
  const row = data.row;
  return (
    <>
      <header class="head">
        <p class="crumb"><a href="/">Runs</a> /</p>
        <h1>{key.slice(key.indexOf("/") + 1)}</h1>
        {row && (
          <p class="lead">
            <i class={`lamp ${row.status}`} />{row.status} · {row.game} · {row.learner} {row.algorithm} · {age(now - row.changed)} ago
            {row.tags.map((tag) => <span key={tag} class="tag">{tag}</span>)}
          </p>
        )}
        <span class="picked">
          <a class="button" href={address("/watch", { policy: key })}>Watch it play</a>
          {row && <button type="button" onClick={() => setManaging(true)}>Rename, tag, delete…</button>}
        </span>
      </header>
      <Complaint text={error && `${error} What is shown below is the last that was known.`} />
      <Complaint text={data.complaint} />
      {data.note && <p class="note box">{data.note}</p>}
      <Facts data={data} />
      <nav class="tabs" aria-label="Parts of this page">
        {[["curves", "Curves"], ["settings", "Settings"], ["events", "Events"], ["checkpoints", "Checkpoints"], ["report", "Report"]].map(([id, words]) => <a key={id} href={`#${id}`}>{words}</a>)}
      </nav>
      <section id="curves">
        <div class="tools">
          <Choice label="Along" value={axis} options={AXES} set={(value) => change({ x: value === "step" ? null : value })} />
          <Choice label="Scale" value={log ? "log" : "linear"} options={[["linear", "linear"], ["log", "log"]]} set={(value) => change({ log: value === "log" })} />
          <label class="slider">Smoothing <input type="range" min={0} max={0.98} step={0.02} value={smooth} onInput={(event) => setSmooth(Number(event.currentTarget.value))} /><output>{smooth.toFixed(2)}</output></label>
          <Overlay mine={key} others={others} />
          {span && <button type="button" onClick={() => setSpan(null)}>Show all ({short(span.start)}–{short(span.end)})</button>}
        </div>
        {keys.length > 1 && (
          <div class="legend box">
            {keys.map((one, i) => (
              <span key={one}><i class={`dot f${i % 8}`} />{one.slice(one.indexOf("/") + 1)}
                {i > 0 && <button type="button" class="plain" aria-label={`Take ${one} away`} onClick={() => change({ with: others.filter((other) => other !== one) })}>×</button>}
              </span>
            ))}
          </div>
        )}
        {data.rows === 0 && <Empty title="No measurements yet"><p>The first row comes with the first update; this page shows it by itself.</p></Empty>}
        {data.groups.map((group) => (
          <Charts key={group.id} group={group} keys={keys} axis={axis} log={log} smooth={settled} span={span} zoom={setSpan} stamp={news} />
        ))}
      </section>
      <Settings config={data.config} mine={key} />
      <Events name={key} stamp={news} />
      <Checkpoints data={data} name={key} />
      <Report there={data.report} name={key} stamp={data.report} />
      {managing && row && <Manage row={row} close={() => setManaging(false)} gone={() => go("/")} />}
    </>
  );
}

function Gone({ text }: { text: string }) {
  return <Empty level={1} title="This run is not there"><p>{text}</p><p><a href="/">All runs</a></p></Empty>;
}

function Facts({ data }: { data: RunDocument }) {
  const judged = data.evaluation;
  const tiles: [string, string][] = [];
  if (judged?.win_rate) tiles.push([percent(judged.win_rate.mean), `of ${judged.games} games won (${percent(judged.win_rate.low)} to ${percent(judged.win_rate.high)})`]);
  const ladder = judged?.ladder?.stat;
  const reached = ladder ? judged?.stats?.[ladder] : undefined;
  if (ladder && reached) tiles.push([short(reached.mean), `${plain(ladder)} on average (${short(reached.low)} to ${short(reached.high)})`]);
  if (judged?.mean_return) tiles.push([short(judged.mean_return.mean), `mean return when judged (${short(judged.mean_return.low)} to ${short(judged.mean_return.high)})`]);
  const now = data.latest["train/mean_episode_return"];
  if (!judged && now !== undefined) tiles.push([short(now), "mean return while learning"]);
  if (data.row) tiles.push([short(data.row.step), "steps"]);
  if (data.row?.speed && data.row.status === "live") tiles.push([whole(data.row.speed), "steps a second"]);
  const memory = data.latest["health/rss_mb"];
  if (memory !== undefined) tiles.push([bytes(memory * 1e6), "memory"]);
  const illegal = data.latest["health/illegal_actions"];
  if (illegal !== undefined) tiles.push([String(illegal), "illegal actions"]);
  return <div class="tiles">{tiles.map(([value, words]) => <Tile key={words} value={value}>{words}</Tile>)}</div>;
}

function Overlay({ mine, others }: { mine: string; others: string[] }) {
  const [text, setText] = useState("");
  const { data } = useGet<{ rows: Row[] }>(text ? address("/api/runs", { text, limit: 8 }) : null);
  return (
    <div class="finder">
      <input type="search" placeholder="Lay another run over it…" value={text} aria-label="Lay another run over it" onInput={(event) => setText(event.currentTarget.value)} />
      {text && data && (
        <ul>
          {data.rows.filter((row) => row.key !== mine && !others.includes(row.key)).map((row) => (
            <li key={row.key}><button type="button" class="plain" onClick={() => { setText(""); change({ with: [...others, row.key] }); }}>{row.name} <small class="quiet">{row.game}</small></button></li>
          ))}
        </ul>
      )}
    </div>
  );
}

interface ChartsProps {
  group: Group;
  keys: string[];
  axis: Axis;
  log: boolean;
  smooth: number;
  span: Span | null;
  zoom: (span: Span | null) => void;
  stamp: number;
}

function Charts({ group, keys, axis, log, smooth, span, zoom, stamp }: ChartsProps) {
  const [open, setOpen] = useState(!CLOSED.has(group.id));
  const names = useMemo(() => [...group.names].sort((one, other) => rank(one) - rank(other)), [group.names.join()]);
  const parts = useCurves(keys, { names, axis, smooth, span }, open, stamp);
  const words = axis === "time" ? "h" : axis === "games" ? "games" : "steps";
  const linesOf = (name: string): Line[] =>
    keys.flatMap((key, i) => {
      const curve = parts[key]?.curves[name];
      return curve ? [{ label: key.slice(key.indexOf("/") + 1), colour: i, ...curve, ...(smooth === 0 && curve.exact ? { low: undefined, high: undefined } : {}) } as Line] : [];
    });
  const lines = useMemo(() => new Map(names.map((name) => [name, linesOf(name)])), [names, keys.join("\n"), parts, smooth]);
  const shared = { log, zoom, span, xWords: words };
  const together = group.together && keys.length === 1 ? joined(names, parts[keys[0] ?? ""]?.curves ?? {}, group.together) : null;
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{group.title} <span>{names.length}</span></summary>
      {open && together && (
        <Chart {...shared} log={false} title={group.title} lines={together} kind={group.together || "lines"} height={240} format={group.together === "stack" ? percent : short} />
      )}
      {open && !together && (
        <div class="many">
          {names.map((name) => <Chart key={name} {...shared} title={plain(name)} lines={lines.get(name) ?? []} format={formatOf(name)} legend={false} />)}
        </div>
      )}
    </details>
  );
}

const rank = (name: string): number => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);

/** All metrics of a group in one picture; the smallest together where there are too many. */
function joined(names: string[], curves: Record<string, Curve>, kind: "lines" | "stack"): Line[] {
  const known = names.flatMap((name) => (curves[name] ? [{ name, curve: curves[name] as Curve }] : []));
  const size = ({ curve }: { curve: Curve }): number => curve.y.reduce((sum, value) => sum + Math.abs(value), 0);
  known.sort((one, other) => size(other) - size(one));
  const line = ({ name, curve }: { name: string; curve: Curve }, i: number): Line => ({ label: plain(name).replace(/ frac$/, ""), colour: i, x: curve.x, y: curve.y });
  const shown = known.slice(0, MOST_AREAS).filter((one) => size(one) > 0).map(line);
  const rest = known.slice(MOST_AREAS);
  if (kind === "stack" && rest.length && shown[0]) {
    const y = shown[0].x.map((_, i) => rest.reduce((sum, one) => sum + (one.curve.y[i] ?? 0), 0));
    shown.push({ label: "all others", colour: MOST_AREAS, x: shown[0].x, y });
  }
  return shown;
}

// --- settings ---

function flat(value: unknown, before = ""): [string, string][] {
  if (value !== null && typeof value === "object" && !Array.isArray(value))
    return Object.entries(value).flatMap(([name, inside]) => flat(inside, before ? `${before}.${name}` : name));
  return [[before, value === null ? "–" : typeof value === "string" ? value : JSON.stringify(value)]];
}

function Settings({ config, mine }: { config: Record<string, unknown>; mine: string }) {
  const { query } = usePlace();
  const other = query.get("beside");
  const { data } = useGet<{ rows: Row[] }>(address("/api/runs", { limit: 200 }));
  const beside = useGet<RunDocument>(other ? apiRun(other) : null);
  const own = flat(config);
  const theirs = new Map(flat(beside.data?.config ?? {}));
  const names = other ? [...new Set([...own.map(([name]) => name), ...theirs.keys()])] : own.map(([name]) => name);
  const values = new Map(own);
  const shown = other ? names.filter((name) => values.get(name) !== theirs.get(name)) : names;
  return (
    <section id="settings">
      <h2>Settings</h2>
      <label class="inline">Difference to{" "}
        <select value={other ?? ""} onChange={(event) => change({ beside: event.currentTarget.value || null })}>
          <option value="">nothing: show all</option>
          {data?.rows.filter((row) => row.key !== mine).map((row) => <option key={row.key} value={row.key}>{row.name}</option>)}
        </select>
      </label>
      <Complaint text={other ? beside.error : ""} />
      {other && beside.data && shown.length === 0 && <p class="quiet">No setting differs.</p>}
      {own.length === 0 && <p class="quiet">This run has no settings file.</p>}
      {shown.length > 0 && (
        <Scroll label="Settings of this run">
          <table class="settings">
            <thead><tr><th>setting</th><th>{other ? "here" : "value"}</th>{other && <th>{other.slice(other.indexOf("/") + 1)}</th>}</tr></thead>
            <tbody>
              {shown.map((name) => <tr key={name}><td>{name}</td><td class="code">{values.get(name) ?? ""}</td>{other && <td class="code">{theirs.get(name) ?? ""}</td>}</tr>)}
            </tbody>
          </table>
        </Scroll>
      )}
    </section>
  );
}

function Events({ name, stamp }: { name: string; stamp: number }) {
  const { data } = useGet<{ lines: string[] }>(apiRun(name, "/log"), stamp);
  const lines = (data?.lines ?? []).toReversed();
  return (
    <section id="events">
      <h2>Events</h2>
      {lines.length === 0 ? <p class="quiet">Nothing happened yet.</p> : <Scroll label="Events of this run" kind="scroll"><ol class="log" reversed>{lines.map((line, i) => <li key={lines.length - i}>{line}</li>)}</ol></Scroll>}
    </section>
  );
}

function Checkpoints({ data, name }: { data: RunDocument; name: string }) {
  const figure = (metrics: Record<string, unknown> | null): string => {
    const value = metrics?.["train/mean_episode_return"] ?? metrics?.["eval/mean_return"];
    return typeof value === "number" ? short(value) : "";
  };
  return (
    <section id="checkpoints">
      <h2>Checkpoints</h2>
      {data.checkpoints.length === 0 ? <p class="quiet">None is complete yet.</p> : (
        <div class="wide">
          <table>
            <thead><tr><th>name</th><th class="n">step</th><th class="n">return</th><th class="n">size</th><th>saved</th><th><span class="sr">Play</span></th></tr></thead>
            <tbody>
              {data.checkpoints.map((one) => (
                <tr key={one.name}>
                  <td class="code">{one.name}</td>
                  <td class="n">{one.step === null ? "" : whole(one.step)}</td>
                  <td class="n">{figure(one.metrics)}</td>
                  <td class="n">{bytes(one.size)}</td>
                  <td>{date(one.time)}</td>
                  <td>{one.best && <span class="tag">best</span>} {one.step !== null && data.evaluation?.step === one.step && <span class="tag">judged</span>} <a href={address("/watch", { policy: name, checkpoint: one.name })}>watch</a></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Report({ there, name }: { there: boolean; name: string; stamp: unknown }) {
  const where = apiRun(name, "/report");
  return (
    <section id="report">
      <h2>Report</h2>
      {there ? (
        <>
          <p><a href={where} target="_blank" rel="noopener">Open it alone</a></p>
          <iframe class="report" title="The report of this run" src={where} sandbox="" loading="lazy" />
        </>
      ) : (
        <>
          <p class="quiet">A page about how this policy plays and where its games end. Write it, and it stands here:</p>
          <Typed label="The command" text={`jimbot analyze ${name.slice(name.indexOf("/") + 1)}`} />
        </>
      )}
    </section>
  );
}

