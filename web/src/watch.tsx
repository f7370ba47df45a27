/** Games: a policy plays, a recording is opened, two policies meet the same seed, or you play and ask. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { address, get, post, useGet, type Query } from "./api";
import { Chart } from "./chart";
import { age, percent, short, signed } from "./format";
import { Choice, Complaint, Doing, Empty } from "./parts";
import { change, go, usePlace } from "./place";
import type { Row } from "./runs";
import { changes, Drawn, type Picking, type Scene } from "./scenes";
import type { Game } from "./welcome";

interface Thought {
  moves: { words: string; share: number; chosen: boolean }[];
  value: number | null;
  /** How often the policy wins from there, where that was measured. */
  chance?: number | null;
  facing?: string;
  legal: number;
}

interface Offer {
  text: string;
  words: string;
  zone: string;
  group: string;
}

interface Frame extends Thought {
  n: number;
  scene: Scene | null;
  move: string | null;
  total: number | null;
  reward?: number;
  terms?: Record<string, number>;
  messages?: string[];
  over: boolean;
  outcome?: string;
  stats?: Record<string, number>;
  opponent?: Thought;
  offers?: Offer[];
  policy?: string;
}

interface About {
  kind: string;
  game: string;
  policy: string;
  opponent?: string;
  seed?: string;
  title?: string;
  how?: string;
  thinks: boolean;
}

interface TableDocument {
  about: About;
  count: number;
  done: boolean;
  complaint: string;
  frames: Frame[];
}

export interface Shown {
  id: string;
  about: About | null;
  frames: Frame[];
  done: boolean;
  error: string;
}

const NOTHING: Shown = { id: "", about: null, frames: [], done: false, error: "" };
const SPEEDS = [0.5, 1, 2, 4, 8, 16];
const SIMULATIONS = [["", "off"], ["16", "16 simulations"], ["64", "64 simulations"]] as const;
type Simulations = (typeof SIMULATIONS)[number][0];
const wait = (time: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, time); });

/** Opens a game and follows it until it is over. */
function useGame(wanted: Record<string, unknown> | null): [Shown, (shown: Shown) => void] {
  const [shown, setShown] = useState<Shown>(NOTHING);
  const text = JSON.stringify(wanted);
  const opened = useRef("");
  useEffect(() => {
    if (wanted === null || text === opened.current) return;
    const stop = new AbortController();
    const follow = async (): Promise<void> => {
      setShown(NOTHING);
      const { id } = "table" in wanted ? { id: String(wanted.table) } : await post<{ id: string }>("/api/tables", wanted);
      let state: Shown = { ...NOTHING, id };
      for (let pause = 120; !stop.signal.aborted && !state.done; pause = Math.min(1000, pause * 1.3)) {
        const found = await get<TableDocument>(`/api/tables/${id}`, { first: state.frames.length });
        state = { id, about: found.about, frames: [...state.frames, ...found.frames], done: found.done || (found.about.kind === "person" && found.count > 0), error: found.complaint };
        if (stop.signal.aborted) return;
        setShown(state);
        if (found.about.seed) opened.current = JSON.stringify({ ...wanted, seed: found.about.seed });
        if (!state.done) await wait(pause);
      }
    };
    follow().catch((problem: Error) => !stop.signal.aborted && setShown((old) => ({ ...old, error: problem.message, done: true })));
    return () => stop.abort();
  }, [text]);
  return [shown, setShown];
}

/** Where one is in a game, and how it moves on; the address says which move is shown. */
function usePosition(count: number, done: boolean, live = false): { at: number; playing: boolean; speed: number; go: (to: number) => void; play: (on: boolean) => void; faster: (speed: number) => void } {
  const { hash } = usePlace();
  const linked = Number(new URLSearchParams(hash).get("move") ?? NaN);
  const [at, setAt] = useState(Number.isFinite(linked) ? linked : 0);
  const [playing, setPlaying] = useState(!Number.isFinite(linked));
  const [speed, setSpeed] = useState(2);
  const last = Math.max(0, count - 1);
  useEffect(() => {
    if (Number.isFinite(linked) && linked !== at) {
      setAt(linked);
      setPlaying(false);
    }
  }, [linked]);
  useEffect(() => {
    if (!playing || count === 0) return;
    if (at >= last) {
      if (done) setPlaying(false);
      return;
    }
    if (live && !done) {
      setAt(last);
      return;
    }
    const timer = setTimeout(() => setAt(at + 1), 1000 / speed);
    return () => clearTimeout(timer);
  }, [playing, at, last, speed, done, count]);
  useEffect(() => {
    if (count > 0 && !playing && at !== linked) history.replaceState(null, "", `${location.pathname}${location.search}#move=${at}`);
  }, [at, playing, count]);
  const to = (place: number): void => {
    setPlaying(false);
    setAt(Math.max(0, Math.min(last, place)));
  };
  return { at: Math.min(at, last), playing, speed, go: to, play: setPlaying, faster: setSpeed };
}

/** Whether a policy tries its moves out before it takes one, as `--plan` does; for games of one player. */
function Plan({ value, set }: { value: Simulations; set: (value: Simulations) => void }) {
  return (
    <>
      <Choice label="Plan" value={value} options={SIMULATIONS} set={set} />
      {value && <p class="quiet">Likely moves are tried out in copies of the game first; every decision takes longer.</p>}
    </>
  );
}

export function Watch() {
  const { query } = usePlace();
  const mode = query.get("mode") ?? "watch";
  const [recording, setRecording] = useState<string | null>(null);
  const asked = ["policy", "game", "table", "file"].some((word) => query.has(word)) || recording !== null;
  if (!asked) return <Setup open={setRecording} />;
  if (mode === "play") return <Play key={query.toString()} />;
  return <Watching recording={recording} leave={() => { setRecording(null); go("/watch"); }} />;
}

// --- choosing ---

function Setup({ open }: { open: (text: string) => void }) {
  const games = useGet<{ games: Game[] }>("/api/games");
  const runs = useGet<{ rows: Row[] }>(address("/api/runs", { limit: 200 }));
  const [game, setGame] = useState("");
  const [policy, setPolicy] = useState("");
  const [second, setSecond] = useState("");
  const [seed, setSeed] = useState("");
  const [plan, setPlan] = useState<Simulations>("");
  const [error, setError] = useState("");
  const [live, setLive] = useState("");
  const recordings = useGet<{ recordings: { key: string; time: number }[] }>("/api/recordings");
  const chosen = game || games.data?.games[0]?.id || "";
  const about = useGet<{ about: string; players: string[]; two_sides: boolean; seed_example: string; live: string }>(chosen ? `/api/games/${encodeURIComponent(chosen)}` : null);
  const mine = runs.data?.rows.filter((row) => row.game === chosen) ?? [];
  const title = games.data?.games.find((one) => one.id === chosen)?.title ?? "";
  const there = live || about.data?.live || "";
  const query: Query = { game: chosen, policy, seed };
  const read = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    if (file.size > 20_000_000) setError(`${file.name} is larger than any recording.`);
    else open(await file.text());
  };
  const policies = (
    <datalist id="policies">
      {mine.map((row) => <option key={row.key} value={row.key}>{row.name}</option>)}
      {about.data?.players.map((name) => <option key={name} value={name} />)}
    </datalist>
  );
  return (
    <>
      <header class="head"><h1>Watch</h1><p class="lead">a policy play, move by move, with what it thought</p></header>
      <div class="cardlist">
        {games.data?.games.filter((one) => one.shipped).map((one) => (
          <button type="button" key={one.id} class="big" aria-pressed={one.id === chosen} onClick={() => setGame(one.id)}>
            <b>{one.title}</b><small>shipped policy</small>
          </button>
        ))}
        {games.data?.games.filter((one) => !one.shipped).map((one) => (
          <button type="button" key={one.id} class="big" aria-pressed={one.id === chosen} onClick={() => setGame(one.id)}>
            <b>{one.title}</b><small>runs and heuristic players</small>
          </button>
        ))}
      </div>
      <Complaint text={games.error || about.error} />
      {about.data && <p class="quiet">{about.data.about}</p>}
      {policies}
      <div class="columns">
        <section class="box">
          <h2 class="h3">Watch a policy</h2>
          <label>Policy <input list="policies" value={policy} placeholder="the shipped one; or a run, a heuristic player, grpc://HOST:PORT/GAME" onInput={(event) => setPolicy(event.currentTarget.value)} /></label>
          {about.data && !about.data.two_sides && <Plan value={plan} set={setPlan} />}
          <label>{about.data?.two_sides ? "Its opponent" : "Beside it, on the same seed"} <input list="policies" value={second} placeholder={about.data?.two_sides ? "the game's own" : "nobody"} onInput={(event) => setSecond(event.currentTarget.value)} /></label>
          <label>Seed <input value={seed} placeholder={`any; for instance ${about.data?.seed_example ?? "42"}`} onInput={(event) => setSeed(event.currentTarget.value)} /></label>
          <p class="row">
            <button type="button" class="main" disabled={!chosen} onClick={() => go(address("/watch", { ...query, ...(about.data?.two_sides ? { opponent: second } : { second, plan }) }))}>Watch</button>
            <button type="button" disabled={!chosen} onClick={() => go(address("/watch", { ...query, mode: "play" }))}>Play {title} yourself</button>
          </p>
          <p class="quiet">A player can ask the policy at any move.</p>
        </section>
        <div>
          {about.data?.live && (
            <section class="box">
              <h2 class="h3">A game of another program</h2>
              <p class="quiet">The bought game's mod, or <code>jimbot host {chosen}</code>. Look on while a person plays it, or let the policy play it.</p>
              <form class="row" onSubmit={(event) => { event.preventDefault(); go(address("/watch", { ...query, follow: there })); }}>
                <input class="grow" value={live} placeholder={about.data.live} aria-label="Address of a live game" onInput={(event) => setLive(event.currentTarget.value)} />
                <button type="submit">Look on</button>
                <button type="button" onClick={() => go(address("/watch", { ...query, address: there }))}>Let it play</button>
              </form>
            </section>
          )}
          <section class="box spaced">
            <h2 class="h3">A recorded game</h2>
            <p class="quiet">Files that <code>--record</code> of watch or play wrote. Those in the folder <code>recordings</code> beside the runs have a link; others are read here only.</p>
            {recordings.data && recordings.data.recordings.length > 0 && (
              <ul class="found scroll">
                {recordings.data.recordings.map((one) => (
                  <li key={one.key}><a href={address("/watch", { file: one.key, policy })}>{one.key.slice(one.key.indexOf("/") + 1)}</a> <small>{age(Date.now() / 1000 - one.time)} ago</small></li>
                ))}
              </ul>
            )}
            <input type="file" accept=".json,application/json" aria-label="Recording" onChange={(event) => void read(event.currentTarget.files?.[0])} />
            <Complaint text={error} />
          </section>
        </div>
      </div>
    </>
  );
}

// --- watching ---

function wish(query: URLSearchParams, policy: string | null): Record<string, unknown> {
  return {
    kind: query.has("follow") ? "follow" : query.has("address") ? "live" : "watch", address: query.get("follow") ?? query.get("address") ?? "", game: query.get("game") ?? "", policy: policy ?? "", checkpoint: query.get("checkpoint") ?? "",
    opponent: query.get("opponent") ?? "", seed: query.get("seed") ?? "", stochastic: query.get("stochastic") === "true", plan: Number(query.get("plan") ?? 0),
  };
}

function Watching({ recording, leave }: { recording: string | null; leave: () => void }) {
  const { query } = usePlace();
  const second = query.get("second");
  const table = query.get("table");
  const file = query.get("file");
  const wanted = recording !== null || file ? { kind: "recording", recording: recording ?? "", file: file ?? "", policy: query.get("policy") ?? "" } : table ? { table } : wish(query, query.get("policy"));
  const [one] = useGame(wanted);
  const seed = query.get("seed") ?? one.about?.seed ?? "";
  const [other] = useGame(second && one.about && seed ? { ...wish(query, second), game: one.about.game, checkpoint: "", plan: 0, seed } : null);
  const count = Math.max(one.frames.length, second ? other.frames.length : 0);
  const position = usePosition(count, one.done && (!second || other.done), query.has("follow"));
  useEffect(() => {
    if (one.about?.seed && !query.get("seed") && recording === null && !file && !table) change({ seed: one.about.seed, game: one.about.game });
  }, [one.about?.seed]);
  useKeys(position);
  if (one.error && one.frames.length === 0) return <Empty title="This game cannot be shown"><p>{one.error}</p><p><button type="button" onClick={leave}>Choose another</button></p></Empty>;
  return (
    <>
      <header class="head">
        <p class="crumb"><a href="/watch" onClick={(event) => { event.preventDefault(); leave(); }}>Watch</a> /</p>
        <h1>{one.about ? (one.about.title ?? `${one.about.policy}${second ? " beside another" : one.about.opponent ? ` against ${one.about.opponent}` : ""}`) : "…"}</h1>
        {one.about?.seed && <p class="lead">{one.about.game}, seed {one.about.seed}</p>}
        {query.has("follow") && <p class="lead">{one.done ? "no longer looked at" : "live, played by another program"}{one.about?.policy ? `; beside it what ${one.about.policy} would do` : ""}</p>}
        {recording !== null && <p class="lead">Open here only; in the folder <code>recordings</code> beside the runs it would have a link.</p>}
        <span class="picked">
          {one.done && one.id && !second && !one.about?.opponent && ["watch", "recording"].includes(one.about?.kind ?? "") && <a class="button main" href={address("/review", { table: one.id })}>Review this game</a>}
          {one.about?.seed && recording === null && <button type="button" onClick={() => change({ seed: null }, false)}>Another seed</button>}
        </span>
      </header>
      <Controls position={position} count={count} done={one.done} />
      <Complaint text={one.error} />
      {count === 0 ? <p class="quiet">{query.has("follow") ? "Waiting for the game to ask its player something…" : "Preparing the game; the first start on a machine compiles its rules, which takes a minute or two…"}</p> : (
        <div class={second ? "pair" : ""}>
          <Side shown={one} at={position.at} jump={position.go} narrow={Boolean(second)} />
          {second && (other.frames.length ? <Side shown={other} at={position.at} jump={position.go} narrow /> : <p class="quiet">{other.error || "The other one begins…"}</p>)}
        </div>
      )}
    </>
  );
}

type Position = ReturnType<typeof usePosition>;

function useKeys(shown: Position): void {
  const latest = useRef(shown);
  latest.current = shown; // a key pressed right after another one starts from where that one led
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      const position = latest.current;
      const place = event.target as Element;
      if (place.closest("input, textarea, select, svg") || (event.key === " " && place.closest("button, summary, a"))) return;
      const moves: Record<string, () => void> = {
        " ": () => position.play(!position.playing), ArrowRight: () => position.go(position.at + 1), ArrowLeft: () => position.go(position.at - 1),
        Home: () => position.go(0), End: () => position.go(Infinity),
      };
      const move = moves[event.key];
      if (!move || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      move();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
}

function Controls({ position, count, done }: { position: Position; count: number; done: boolean }) {
  const { at, playing, speed } = position;
  return (
    <div class="controls" role="group" aria-label="Playing">
      <button type="button" aria-label="First move" onClick={() => position.go(0)}>«</button>
      <button type="button" aria-label="One move back" onClick={() => position.go(at - 1)}>‹</button>
      <button type="button" class="main" aria-label={playing ? "Pause" : "Play"} onClick={() => position.play(!playing)}>{playing ? "❚❚" : "▶"}</button>
      <button type="button" aria-label="One move on" onClick={() => position.go(at + 1)}>›</button>
      <button type="button" aria-label="Last move" onClick={() => position.go(Infinity)}>»</button>
      <input type="range" min={0} max={Math.max(0, count - 1)} value={at} aria-label="Move" onInput={(event) => position.go(Number(event.currentTarget.value))} />
      <span class="where"><a href={`#move=${at}`}>{at}</a> of {Math.max(0, count - 1)}{!done && "…"}</span>
      <Choice label="Speed" value={String(speed)} options={SPEEDS.map((one) => [String(one), `${one}×`] as const)} set={(value) => position.faster(Number(value))} />
    </div>
  );
}

function Side({ shown, at, jump, narrow }: { shown: Shown; at: number; jump: (to: number) => void; narrow: boolean }) {
  const frame = shown.frames[Math.min(at, shown.frames.length - 1)];
  if (!frame) return null;
  const before = shown.frames[frame.n - 1];
  return (
    <div class={narrow ? "" : "stage"}>
      <div>
        {narrow && <h2 class="h3">{shown.about?.policy}</h2>}
        {frame.over && <div class="outcome" role="status">{frame.outcome} {frame.total !== null && <small>Return {short(frame.total)}.</small>}<Stats stats={frame.stats} /></div>}
        {frame.scene && <Drawn scene={frame.scene} />}
      </div>
      <aside>
        <Thinking frame={frame} name={shown.about?.policy ?? ""} />
        {frame.opponent && <Thinking frame={frame.opponent} name={shown.about?.opponent ?? "opponent"} />}
        <Changed frame={frame} before={before} />
        {shown.about?.thinks && <Values frames={shown.frames} at={frame.n} />}
        <Moves frames={shown.frames} at={frame.n} jump={jump} />
      </aside>
    </div>
  );
}

const Stats = ({ stats }: { stats: Record<string, number> | undefined }) => (
  Object.keys(stats ?? {}).length === 0 ? null : (
    <details class="stats"><summary>All statistics</summary>
      <small>{Object.entries(stats ?? {}).map(([name, value]) => `${name.replace(/_/g, " ")} ${short(value)}`).join(" · ")}</small>
    </details>
  )
);

function Thinking({ frame, name }: { frame: Thought & { move?: string | null; policy?: string }; name: string }) {
  if (frame.moves.length === 0) return frame.move ? <p class="box"><small>next</small> <b>{frame.move}</b></p> : null;
  return (
    <section class="box thinking" aria-label="What the policy thought">
      <h2 class="h4">{frame.policy ?? name} <small>{frame.legal} legal moves</small></h2>
      <ol>
        {frame.moves.map((move, i) => (
          <li key={i} class={move.chosen ? "chosen" : ""}>
            <span class="fill" style={{ width: `${100 * move.share}%` }} />
            <span class="what">{move.words}</span><b>{move.share < 0.001 ? "<0.1 %" : percent(move.share)}</b>
          </li>
        ))}
      </ol>
      {typeof frame.chance === "number" && <p class="chance">wins from here{frame.facing}: <b>{percent(frame.chance)}</b></p>}
      {frame.value !== null && frame.value !== 0 && <p>expects a return of <b>{short(frame.value)}</b></p>}
    </section>
  );
}

function Changed({ frame, before }: { frame: Frame; before: Frame | undefined }) {
  const lines = before?.scene && frame.scene && !frame.over ? changes(before.scene, frame.scene) : [];
  const terms = Object.entries(before?.terms ?? {});
  const messages = frame.messages ?? [];
  if (!before) return null;
  return (
    <section class="box changed" aria-label="What changed">
      <h2 class="h4">{before.move ? `after “${before.move}”` : "what changed"}</h2>
      {[...messages, ...lines].length === 0 && terms.length === 0 && <p class="quiet">nothing that shows</p>}
      <ul>
        {messages.map((line, i) => <li key={`t${i}`}>{line}</li>)}
        {lines.map((line) => <li key={line}>{line}</li>)}
        {terms.map(([name, value]) => <li key={name}>reward {name.replace(/_/g, " ")} <b class={value > 0 ? "good" : "bad"}>{signed(value)}</b></li>)}
      </ul>
    </section>
  );
}

function Values({ frames, at }: { frames: Frame[]; at: number }) {
  const lines = useMemo(() => {
    const known = frames.filter((frame) => frame.value !== null);
    const x = known.map((frame) => frame.n);
    return [
      { label: "expected return", colour: 1, x, y: known.map((frame) => (frame.value ?? 0) + (frame.total ?? 0)) },
      { label: "return so far", colour: 3, x, y: known.map((frame) => frame.total ?? 0) },
    ];
  }, [frames]);
  return <Chart title="Return: expected and so far" lines={lines} height={150} xWords="moves" marks={[{ x: at, words: "now" }]} xFormat={(value) => String(Math.round(value))} />;
}

/** What is known of a position whose move is not. */
const seen = (frames: Frame[], frame: Frame): string => {
  if (frame.offers) return "your move";
  const before = frames[frame.n - 1]?.scene;
  return (before && frame.scene ? changes(before, frame.scene)[0] : undefined) ?? `position ${frame.n}`;
};

function Moves({ frames, at, jump }: { frames: Frame[]; at: number; jump: (to: number) => void }) {
  const first = Math.max(0, at - 6);
  return (
    <section class="moves" aria-label="Moves">
      <ol start={first}>
        {frames.slice(first, first + 16).map((frame) => (
          <li key={frame.n} aria-current={frame.n === at ? "step" : undefined}>
            <button type="button" class="plain" onClick={() => jump(frame.n)}>{frame.move ?? frame.outcome ?? seen(frames, frame)}</button>
            {frame.reward !== undefined && frame.reward !== 0 && <small class={frame.reward > 0 ? "good" : "bad"}>{signed(frame.reward)}</small>}
          </li>
        ))}
      </ol>
    </section>
  );
}

// --- playing ---

function Play() {
  const { query } = usePlace();
  const game = query.get("game") ?? "";
  const [wanted] = useState({ kind: "person", game, seed: query.get("seed") ?? "" });
  const [shown, setShown] = useGame(wanted);
  const [picked, setPicked] = useState<number[]>([]);
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  const [parts, setParts] = useState<Record<string, string>>({});
  const [adviser, setAdviser] = useState(query.get("policy") || game);
  const [plan, setPlan] = useState<Simulations>("");
  const about = useGet<{ two_sides: boolean }>(`/api/games/${encodeURIComponent(game)}`);
  const frame = shown.frames.at(-1);
  const refresh = async (): Promise<void> => {
    const found = await get<TableDocument>(`/api/tables/${shown.id}`);
    setShown({ ...shown, frames: found.frames });
  };
  const move = async (words: string): Promise<void> => {
    try {
      await post(`/api/tables/${shown.id}/move`, { text: words });
      setPicked([]);
      setParts({});
      setText("");
      setError("");
      await refresh();
    } catch (problem) {
      setError((problem as Error).message);
    }
  };
  if (shown.error && !frame) return <Empty title="This game cannot be played"><p>{shown.error}</p><p><a href="/watch">Choose another</a></p></Empty>;
  if (!frame?.scene) return <p class="quiet">Preparing the game; the first start on a machine compiles its rules, which takes a minute or two…</p>;
  const offers = frame.offers ?? [];
  const zone = offers.find((offer) => offer.zone)?.zone ?? "";
  const picking: Picking | undefined = zone ? { zone, picked, toggle: (place) => setPicked((old) => (old.includes(place) ? old.filter((one) => one !== place) : [...old, place].sort((a, b) => a - b))) } : undefined;
  const places = picked.map((place) => place + 1).join(" ");
  const groups = [...new Set(offers.map((offer) => offer.group).filter(Boolean))];
  return (
    <>
      <header class="head">
        <p class="crumb"><a href="/watch">Watch</a> /</p>
        <h1>You play {game}</h1>
        <p class="lead">seed {shown.about?.seed}, move {frame.n}{frame.total !== null && `, return ${short(frame.total)}`}</p>
        <span class="picked"><button type="button" onClick={() => go(address("/watch", { game, mode: "play", seed: Date.now() % 1e9 }))}>New game</button></span>
      </header>
      <div class="stage">
        <div>
          {frame.over && <div class="outcome" role="status">{frame.outcome} <Stats stats={frame.stats} /></div>}
          <Drawn scene={frame.scene} picking={picking} />
          {!frame.over && (
            <section class="box offers" aria-label="Your moves">
              {groups.length > 0 && (
                <div class="columns">
                  {groups.map((group) => (
                    <fieldset key={group}><legend>{group}</legend>
                      {offers.filter((offer) => offer.group === group).map((offer) => (
                        <label key={offer.text} class="radio"><input type="radio" name={group} checked={parts[group] === offer.text} onChange={() => setParts({ ...parts, [group]: offer.text })} /> {offer.words}</label>
                      ))}
                    </fieldset>
                  ))}
                </div>
              )}
              {groups.length > 0 && <button type="button" class="main" disabled={groups.some((group) => !parts[group])} onClick={() => void move(groups.map((group) => parts[group]).join(" "))}>Go</button>}
              <div class="row">
                {offers.filter((offer) => !offer.group).slice(0, 60).map((offer) => (
                  <button type="button" key={offer.text} class={offer.zone ? "main" : ""} disabled={Boolean(offer.zone) && picked.length === 0} title={offer.words}
                    onClick={() => void move(offer.zone ? `${offer.text} ${places}` : offer.text)}>
                    {offer.zone ? `${offer.text} ${places || "…"}` : offer.words}
                  </button>
                ))}
              </div>
              <form class="row" onSubmit={(event) => { event.preventDefault(); void move(text); }}>
                <input value={text} aria-label="Type a move" placeholder="or type a move" onInput={(event) => setText(event.currentTarget.value)} />
              </form>
              <Complaint text={error} />
              <details><summary>How moves are typed</summary><p>{shown.about?.how}</p></details>
            </section>
          )}
        </div>
        <aside>
          <section class="box">
            <h2 class="h4">Ask a policy</h2>
            <label>Policy <input value={adviser} onInput={(event) => setAdviser(event.currentTarget.value)} /></label>
            {about.data && !about.data.two_sides && <Plan value={plan} set={setPlan} />}
            <Doing label="What would you do?" disabled={frame.over || !adviser} work={async () => { await post(`/api/tables/${shown.id}/ask`, { policy: adviser, plan: Number(plan) }); await refresh(); }} />
          </section>
          <Thinking frame={frame} name={adviser} />
          <Changed frame={frame} before={shown.frames.at(-2)} />
          <Moves frames={shown.frames} at={frame.n} jump={() => undefined} />
        </aside>
      </div>
    </>
  );
}
