/** A game under review: the board, the chance to win after every move, what each move cost, and what if. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { address, get, post, useGet } from "./api";
import { age, percent, whole } from "./format";
import { Complaint, Doing, Scroll } from "./parts";
import { change, usePlace } from "./place";
import { Drawn, type Scene } from "./scenes";

interface Interval {
  mean: number;
  low: number;
  high: number;
}

interface Candidate {
  words: string;
  share: number;
  gain: Interval | null;
}

interface Verdict {
  number: number;
  words: string;
  kind: string;
  chance: Interval;
  share: number;
  mark: string;
  cost: Interval | null;
  deals: number;
  better: string | null;
  line: string[];
  candidates: Candidate[];
}

export interface ReviewDocument {
  game: string;
  title: string;
  by: string;
  won: boolean | null;
  ending: string;
  know_the_seed: boolean;
  complete: boolean;
  simulations: number;
  seconds: number;
  accuracy: Record<string, number | null>;
  counts: Record<string, number>;
  decided: string;
  lessons: string[];
  notes: string[];
  moves: Verdict[];
}

interface WhatIf extends Candidate {
  number: number;
  line: string[];
}

const SIGNS: Record<string, string> = { blunder: "??", mistake: "?", inaccuracy: "?!", fine: "", best: "", "": "" };
const BAD = ["blunder", "mistake", "inaccuracy"];
const points = (value: number): string => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(100 * value).toFixed(Math.abs(value) < 0.1 ? 1 : 0)}`;

/** The curve under the board; where a move cost something there is a dot. A click goes there. */
function Curve({ moves, at, go }: { moves: Verdict[]; at: number; go: (to: number) => void }) {
  const wide = 1000, high = 170;
  const x = (i: number): number => (moves.length < 2 ? 0 : (wide * i) / (moves.length - 1));
  const y = (chance: number): number => high - chance * high;
  const line = moves.map((one, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(one.chance.mean).toFixed(1)}`).join("");
  const band = moves.map((one, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(one.chance.high).toFixed(1)}`).join("") + moves.toReversed().map((one, i) => `L${x(moves.length - 1 - i).toFixed(1)} ${y(one.chance.low).toFixed(1)}`).join("") + "Z";
  const jump = (event: MouseEvent): void => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    go(Math.round(((event.clientX - box.left) / box.width) * (moves.length - 1)) + 1);
  };
  const here = moves[Math.max(0, at - 1)];
  return (
    <figure class="chart review-curve">
      <figcaption><span class="title">Chance to win</span>{here && <b>{percent(here.chance.mean)} <small>({percent(here.chance.low)} to {percent(here.chance.high)})</small></b>}</figcaption>
      <svg viewBox={`0 0 ${wide} ${high}`} preserveAspectRatio="none" role="img" aria-label={`Chance to win after every move, ${here ? percent(here.chance.mean) : ""} now`} onClick={jump}>
        {[0.25, 0.5, 0.75].map((share) => <line key={share} class="grid" x1={0} x2={wide} y1={y(share)} y2={y(share)} />)}
        <path class="band s1" d={band} />
        <path class="line s1" d={line} vector-effect="non-scaling-stroke" />
        {at > 0 && <line class="cursor" x1={x(at - 1)} x2={x(at - 1)} y1={0} y2={high} vector-effect="non-scaling-stroke" />}
      </svg>
      <div class="dots" aria-hidden="true">
        {moves.map((one, i) => BAD.includes(one.mark) && <i key={i} class={`mark-${one.mark}`} style={{ left: `${(100 * i) / Math.max(1, moves.length - 1)}%`, bottom: `${100 * one.chance.mean}%` }} title={`${one.number}. ${one.words}: ${one.mark}`} />)}
      </div>
    </figure>
  );
}

function Summary({ review }: { review: ReviewDocument }) {
  const { all, ...kinds } = review.accuracy;
  const counts = Object.entries(review.counts).filter(([, many]) => many > 0);
  return (
    <section class="box" aria-label="Summary">
      <h2 class="h3">{review.ending || "The game is not over"}</h2>
      <p>{review.decided}</p>
      <dl class="scene-stats">
        {typeof all === "number" && <div><dt>accuracy</dt><dd>{all.toFixed(0)}</dd></div>}
        {Object.entries(kinds).map(([kind, value]) => typeof value === "number" && <div key={kind}><dt>{kind}</dt><dd>{value.toFixed(0)}</dd></div>)}
        {counts.map(([mark, many]) => <div key={mark} class={`count-${mark}`}><dt>{mark}</dt><dd>{many}</dd></div>)}
      </dl>
      {review.lessons.length > 0 && <><h3 class="h4">Lessons</h3><ol>{review.lessons.map((one) => <li key={one}>{one}</li>)}</ol></>}
      {review.notes.map((one) => <p class="note" key={one}>{one}</p>)}
    </section>
  );
}

function Details({ verdict, live, ask }: { verdict: Verdict | undefined; live: boolean; ask: ((number: number, action: number) => Promise<WhatIf>) | undefined }) {
  if (!verdict) return <p class="box quiet">The game before its first move.</p>;
  return (
    <section class="box" aria-label="This move">
      <h2 class="h3"><small>{verdict.number}.</small> {verdict.words} {verdict.mark && <span class={`badge mark-${verdict.mark}`}>{verdict.mark} {SIGNS[verdict.mark]}</span>}</h2>
      {verdict.cost && <p>It cost <b>{points(Math.max(0, verdict.cost.mean))}</b> points of winning chance <small>({points(verdict.cost.low)} to {points(verdict.cost.high)}, {whole(verdict.deals)} deals)</small>.</p>}
      {verdict.line.length > 0 && <><h3 class="h4">Better</h3><ol class="better">{verdict.line.map((one, i) => <li key={i} class={i ? "" : "chosen"}>{one}</li>)}</ol></>}
      {verdict.candidates.length > 0 && (
        <table class="candidates">
          <thead><tr><th>instead</th><th class="n">would gain</th></tr></thead>
          <tbody>{verdict.candidates.map((one) => <tr key={one.words}><td>{one.words}</td><td class={`n ${one.gain && one.gain.low > 0 ? "good" : one.gain && one.gain.high < 0 ? "bad" : ""}`}>{one.gain ? points(one.gain.mean) : ""}</td></tr>)}</tbody>
        </table>
      )}
      {live && ask && <What number={verdict.number} ask={ask} />}
    </section>
  );
}

/** Another move here: what it would have gained. */
function What({ number, ask }: { number: number; ask: (number: number, action: number) => Promise<WhatIf> }) {
  const { query } = usePlace();
  const moves = useGet<{ moves: { action: number; words: string }[] }>(address(`/api/reviews/${query.get("review") ?? ""}/moves`, { number }));
  const [action, setAction] = useState("");
  const [found, setFound] = useState<WhatIf | null>(null);
  useEffect(() => { setFound(null); setAction(""); }, [number]);
  return (
    <div class="what-if">
      <label>What if <select value={action} onChange={(event) => setAction(event.currentTarget.value)}><option value="">choose another move</option>{moves.data?.moves.map((one) => <option key={one.action} value={one.action}>{one.words}</option>)}</select></label>
      <Doing label="Try it" disabled={!action} work={async () => setFound(await ask(number, Number(action)))} />
      {found && found.number === number && (
        <p role="status">{found.words}: <b class={found.gain && found.gain.low > 0 ? "good" : found.gain && found.gain.high < 0 ? "bad" : ""}>{found.gain ? points(found.gain.mean) : "?"} points</b> {found.gain && <small>({points(found.gain.low)} to {points(found.gain.high)})</small>}<br /><small>{found.line.slice(1).join(" · ")}</small></p>
      )}
    </div>
  );
}

/** Everything of a review. `at` moves have been made on the board. */
export function ReviewBoard({ review, scenes, live = false, ask }: {
  review: ReviewDocument; scenes: (Scene | null)[]; live?: boolean; ask?: (number: number, action: number) => Promise<WhatIf>;
}) {
  const linked = Number(new URLSearchParams(location.hash.slice(1)).get("move") ?? 0);
  const [at, setAt] = useState(Number.isFinite(linked) ? linked : 0);
  const last = review.moves.length;
  const go = (to: number): void => setAt(Math.max(0, Math.min(last, to)));
  const list = useRef<HTMLOListElement>(null);
  const bad = useMemo(() => review.moves.filter((one) => BAD.includes(one.mark)).map((one) => one.number), [review]);
  useEffect(() => {
    history.replaceState(null, "", `${location.pathname}${location.search}#move=${at}`);
    const item = list.current?.children[Math.max(0, at - 1)] as HTMLElement | undefined;
    if (item && list.current) list.current.scrollTop = item.offsetTop - list.current.clientHeight / 2;
  }, [at]);
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if ((event.target as Element).closest("input, textarea, select") || event.ctrlKey || event.metaKey) return;
      const to: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last };
      if (!(event.key in to)) return;
      event.preventDefault();
      go(to[event.key] ?? at);
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  });
  const verdict = review.moves[at - 1];
  // A verdict is shown beside the table on which its move was made.
  const scene = scenes[Math.max(0, at - 1)] ?? null;
  const next = bad.find((number) => number > at);
  return (
    <>
      <div class="controls" role="group" aria-label="Moves">
        <button type="button" aria-label="Before the first move" onClick={() => go(0)}>«</button>
        <button type="button" aria-label="One move back" onClick={() => go(at - 1)}>‹</button>
        <button type="button" aria-label="One move on" onClick={() => go(at + 1)}>›</button>
        <button type="button" aria-label="Last move" onClick={() => go(last)}>»</button>
        <input type="range" min={0} max={last} value={at} aria-label="Move" onInput={(event) => go(Number(event.currentTarget.value))} />
        <span class="where">{at} of {last}</span>
        {bad.length > 0 && <button type="button" class="main" onClick={() => go(next ?? bad[0] ?? 0)}>Next mistake</button>}
      </div>
      <div class="stage review">
        <div>
          {scene && <Drawn scene={scene} />}
          <Curve moves={review.moves} at={at} go={go} />
          <Summary review={review} />
        </div>
        <aside>
          <Details verdict={verdict} live={live} ask={ask} />
          <Scroll label="Moves" kind="review-moves">
            <ol ref={list}>
              {review.moves.map((one) => (
                <li key={one.number}><button type="button" class={`plain ${one.number === at ? "here" : ""}`} aria-current={one.number === at ? "step" : undefined} onClick={() => go(one.number)}>
                  <small>{one.number}</small> <span>{one.words}</span> <b class={`mark-${one.mark}`}>{SIGNS[one.mark]}</b> <i>{percent(one.chance.mean)}</i>
                </button></li>
              ))}
            </ol>
          </Scroll>
        </aside>
      </div>
      <p class="quiet">Points of winning chance in the hands of {review.by}, 99 % intervals; {whole(review.simulations)} simulations in {review.seconds.toFixed(0)} s{review.complete ? "" : live ? ", going on" : ", cut off by time"}. Nothing hidden is held against a move{review.know_the_seed ? "; here the seed was known" : ""}.</p>
    </>
  );
}

// --- the page ---

interface Grown {
  review: ReviewDocument | null;
  done: boolean;
  complaint: string;
}

export function Review() {
  const { query } = usePlace();
  const id = query.get("review");
  return id ? <Opened key={id} id={id} /> : <Choose />;
}

function Choose() {
  const { query } = usePlace();
  const recordings = useGet<{ recordings: { key: string; time: number }[] }>("/api/recordings");
  const [error, setError] = useState("");
  const [over, setOver] = useState(false);
  const open = async (wanted: Record<string, unknown>): Promise<void> => {
    setError("");
    try {
      const { id } = await post<{ id: string }>("/api/reviews", wanted);
      change({ review: id, table: null, file: null }, false);
    } catch (problem) {
      setError((problem as Error).message);
    }
  };
  const table = query.get("table"), file = query.get("file");
  useEffect(() => {
    if (table) void open({ table });
    else if (file) void open({ file });
  }, [table, file]);
  const read = async (one: File | undefined): Promise<void> => {
    if (!one) return;
    if (one.size > 20_000_000) setError(`${one.name} is larger than any recording.`);
    else await open({ text: await one.text() });
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    void read(event.dataTransfer?.files[0]);
  };
  return (
    <>
      <header class="head"><h1>Review</h1><p class="lead">which move lost the game, and what would have been better</p></header>
      <section class={`box drop ${over ? "over" : ""}`} onDragOver={(event) => { event.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)} onDrop={drop}>
        <h2 class="h3">Drop a game here</h2>
        <p class="quiet">A file of <code>--record</code>, or a log as bots of the bought game write it (JSON lines). A game that was played on the page has a button for it.</p>
        <input type="file" accept=".json,.jsonl,.log,.txt,.html" aria-label="A recorded game" onChange={(event) => void read(event.currentTarget.files?.[0])} />
        <Complaint text={error} />
      </section>
      {recordings.data && recordings.data.recordings.length > 0 && (
        <section class="box spaced">
          <h2 class="h3">Recordings beside the runs</h2>
          <ul class="found scroll">{recordings.data.recordings.map((one) => <li key={one.key}><button type="button" class="plain" onClick={() => void open({ file: one.key })}>{one.key.slice(one.key.indexOf("/") + 1)}</button> <small>{age(Date.now() / 1000 - one.time)} ago</small></li>)}</ul>
        </section>
      )}
      <p class="quiet">In a terminal: <code>jimbot review game.json --html review.html</code> writes a page to share.</p>
    </>
  );
}

function Opened({ id }: { id: string }) {
  const [grown, setGrown] = useState<Grown>({ review: null, done: false, complaint: "" });
  const [scenes, setScenes] = useState<(Scene | null)[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    const follow = async (): Promise<void> => {
      for (let pause = 250, known = false; !stop.signal.aborted; pause = Math.min(1500, pause * 1.15)) {
        const found = await get<Grown>(`/api/reviews/${id}`, {}, stop.signal);
        if (found.review && !known) {
          setScenes((await get<{ scenes: (Scene | null)[] }>(`/api/reviews/${id}/scenes`, {}, stop.signal)).scenes);
          known = true;
        }
        setGrown(found);
        if (found.done) return;
        await new Promise((resolve) => { setTimeout(resolve, pause); });
      }
    };
    follow().catch((problem: Error) => !stop.signal.aborted && setGrown((old) => ({ ...old, complaint: problem.message, done: true })));
    return () => stop.abort();
  }, [id]);
  const { review, done, complaint } = grown;
  return (
    <>
      <header class="head">
        <p class="crumb"><a href="/review">Review</a> /</p>
        <h1>{review?.title ?? "…"}</h1>
        {review && !done && <p class="lead" role="status">going on: {review.moves.filter((one) => one.cost).length} of {review.moves.filter((one) => one.candidates.length).length} moves in doubt were tried out</p>}
      </header>
      <Complaint text={complaint} />
      {review ? <ReviewBoard review={review} scenes={scenes} live={!complaint} ask={(number, action) => post<WhatIf>(`/api/reviews/${id}/what-if`, { number, action })} /> : !complaint && <p class="quiet">Looking the positions up; the first time on a machine compiles the game…</p>}
    </>
  );
}
