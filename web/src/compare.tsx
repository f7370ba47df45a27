/** Policies beside each other: metrics with intervals, how far games come, differences on equal seeds, who beats whom. */
import { useRef, useState } from "preact/hooks";
import { address, post, useGet } from "./api";
import { Chart, COLOURS } from "./chart";
import { percent, plain, short, whole } from "./format";
import { Progress, useJob } from "./jobs";
import { Keep } from "./keep";
import { Complaint, Doing } from "./parts";
import { change, usePlace } from "./place";
import type { Row } from "./runs";

interface Interval {
  mean: number;
  low: number;
  high: number;
}

interface Evaluation {
  policy: string;
  games: number;
  win_rate?: Interval | null;
  mean_return?: Interval;
  mean_length?: Interval;
  ladder?: { stat: string | null; reached?: Record<string, Interval> };
  stats?: Record<string, Interval>;
  illegal_actions?: number;
}

interface Difference {
  metric: string;
  one: string;
  other: string;
  difference: Interval;
  better: number;
  equal: number;
  worse: number;
  significant: boolean;
  sentence: string;
}

interface Pairs {
  kind: "pairs";
  policies: Evaluation[];
  differences: Difference[];
  win_rate_differences: Difference[];
}

interface Cross {
  kind: "cross";
  players: string[];
  ratings: { player: string; rating: number; low: number; high: number; games: number }[];
  pairs: { player: string; opponent: string; games: number; won: number; tied: number; win_rate: Interval }[];
}

interface Sequential {
  kind: "sequential";
  sentence: string;
  bounds: [number, number];
  decided: string | null;
}

interface Look {
  pairs: number;
  ratio: number;
}

export function Compare() {
  const { query } = usePlace();
  const runs = query.getAll("run");
  const id = query.get("job");
  const job = useJob<Look, Pairs | Cross | Sequential>(id);
  const stored = useGet<{ evaluations: { key: string; name: string; evaluation: Evaluation | null }[] }>(runs.length ? address("/api/evaluations", { run: runs }) : null);
  const judged = (stored.data?.evaluations ?? []).flatMap((one) => (one.evaluation ? [{ ...one.evaluation, policy: one.name }] : []));
  const missing = (stored.data?.evaluations ?? []).filter((one) => !one.evaluation);
  return (
    <>
      <header class="head"><h1>Compare</h1><p class="lead">policies beside each other, with how certain the metrics are</p></header>
      <Wish runs={runs} />
      {id && job && <Progress id={id} job={job} words="games played" />}
      <Complaint text={job?.complaint ?? ""} />
      {job?.state === "cancelled" && <p class="quiet" role="status">Cancelled.</p>}
      {job && job.found.length > 1 && <Looks looks={job.found} />}
      {job?.result?.kind === "sequential" && <p class={job.result.decided ? "verdict" : "quiet"} role="status">{job.result.sentence}</p>}
      {job?.result?.kind === "pairs" && <Paired result={job.result} />}
      {job?.result?.kind === "cross" && <Crossed result={job.result} />}
      <Complaint text={stored.error} />
      {judged.length > 0 && (
        <>
          <h2>As judged when they were trained</h2>
          <p class="quiet">Each on its own games; for a sharper comparison play them on the same seeds above.</p>
          <Evaluations judged={judged} />
        </>
      )}
      {missing.length > 0 && <p class="quiet">Not judged yet: {missing.map((one) => one.name).join(", ")}.</p>}
      {runs.length === 0 && !id && <p class="quiet">Tick runs in the <a href="/">table</a>, or name policies here.</p>}
    </>
  );
}

/** How a sequential test came to its verdict: it stops where the curve leaves the bounds. */
function Looks({ looks }: { looks: Look[] }) {
  const x = looks.map((one) => one.pairs);
  const bound = Math.log(19);
  const flat = (value: number) => x.map(() => value);
  return (
    <Chart title="Log-likelihood ratio" height={220} xWords="pairs of games" zero lines={[
      { label: "so far", colour: 0, x, y: looks.map((one) => one.ratio) },
      { label: "high is decided", colour: 3, x, y: flat(bound) },
      { label: "low is decided", colour: 7, x, y: flat(-bound) },
    ]} />
  );
}

function Wish({ runs }: { runs: string[] }) {
  const { query } = usePlace();
  const known = useGet<{ rows: Row[] }>(address("/api/runs", { limit: 200 }));
  const games = useGet<{ games: { id: string; title: string }[] }>("/api/games");
  const [policies, setPolicies] = useState((query.getAll("policy").length ? query.getAll("policy") : runs).join(", "));
  const [game, setGame] = useState(query.get("game") ?? "");
  const [count, setCount] = useState(query.get("games") ?? "256");
  const [sprt, setSprt] = useState(query.get("sprt") ?? "");
  const wanted = policies.split(",").map((one) => one.trim()).filter(Boolean);
  const play = async (): Promise<void> => {
    const { id } = await post<{ id: string }>("/api/compare", { policies: wanted, game, games: Number(count) || 0, sprt });
    change({ job: id, policy: wanted, game, games: count, sprt }, false);
  };
  return (
    <section class="box">
      <div class="wish">
        <label>Policies, with commas <input value={policies} list="known-policies" placeholder="balatro, heuristic, 0/my-run" onInput={(event) => setPolicies(event.currentTarget.value)} /></label>
        <label>Game <select value={game} onChange={(event) => setGame(event.currentTarget.value)}><option value="">as the policies say</option>{games.data?.games.map((one) => <option key={one.id} value={one.id}>{one.title}</option>)}</select></label>
        <label>Games each <input type="number" min={1} max={100000} value={count} onInput={(event) => setCount(event.currentTarget.value)} /></label>
        <label>Stop when sure <input value={sprt} placeholder="0,3" title="LOW,HIGH: is the first of two better by LOW or by HIGH? In points of win rate, in games of two players Elo." onInput={(event) => setSprt(event.currentTarget.value)} /></label>
      </div>
      <datalist id="known-policies">{known.data?.rows.map((row) => <option key={row.key} value={row.key}>{row.name}</option>)}</datalist>
      <Doing label="Play them on the same seeds" kind="main" work={play} disabled={wanted.length < 2} />
    </section>
  );
}

function Evaluations({ judged }: { judged: Evaluation[] }) {
  const stats = [...new Set(judged.flatMap((one) => Object.keys(one.stats ?? {})))];
  const rows: [string, (one: Evaluation) => Interval | null | undefined, (value: number) => string][] = [
    ["wins", (one) => one.win_rate, percent], ["return", (one) => one.mean_return, short], ["moves a game", (one) => one.mean_length, short],
    ...stats.map((name) => [plain(name), (one: Evaluation) => one.stats?.[name], short] as [string, (one: Evaluation) => Interval | undefined, (value: number) => string]),
  ];
  const shown = rows.filter(([, of]) => judged.some(of));
  const curves = judged.flatMap((one, i) => {
    const reached = Object.entries(one.ladder?.reached ?? {}).map(([rung, interval]) => [Number(rung), interval] as const).sort((a, b) => a[0] - b[0]);
    return reached.length ? [{ label: one.policy, colour: i, x: reached.map(([rung]) => rung), y: reached.map(([, share]) => share.mean), low: reached.map(([, share]) => share.low), high: reached.map(([, share]) => share.high) }] : [];
  });
  const ladder = judged.find((one) => one.ladder?.stat)?.ladder?.stat;
  return (
    <>
      <div class="many">
        {shown.slice(0, 3).map(([name, of, format]) => <Intervals key={name} title={name} format={format} rows={judged.flatMap((one, i) => { const value = of(one); return value ? [{ label: one.policy, colour: i, ...value }] : []; })} />)}
      </div>
      {curves.length > 0 && <Chart title={`Share of games that came at least so far: ${plain(ladder ?? "")}`} lines={curves} height={260} zero format={percent} xWords={plain(ladder ?? "")} xFormat={(value) => String(Math.round(value))} />}
      <div class="wide">
        <table>
          <thead><tr><th>figure</th>{judged.map((one) => <th key={one.policy} class="n">{one.policy}</th>)}</tr></thead>
          <tbody>
            <tr><td>games</td>{judged.map((one) => <td key={one.policy} class="n">{whole(one.games)}</td>)}</tr>
            {shown.map(([name, of, format]) => (
              <tr key={name}><td>{name}</td>{judged.map((one) => { const value = of(one); return <td key={one.policy} class="n">{value ? <>{format(value.mean)} <small>({format(value.low)} to {format(value.high)})</small></> : ""}</td>; })}</tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

interface Mark extends Interval {
  label: string;
  colour: number;
}

/** Means with their intervals, one under the other. */
function Intervals({ title, rows, format, zero = false }: { title: string; rows: Mark[]; format: (value: number) => string; zero?: boolean }) {
  const box = useRef<HTMLElement>(null);
  const low = Math.min(...rows.map((row) => row.low), ...(zero ? [0] : []));
  const high = Math.max(...rows.map((row) => row.high), ...(zero ? [0] : []));
  const room = (high - low) * 0.08 || 1;
  const place = (value: number): number => 12 + (276 * (value - low + room)) / (high - low + 2 * room);
  const height = 18 + rows.length * 40;
  return (
    <figure class="chart" ref={box}>
      <figcaption><span class="title">{title}</span><Keep name={title} figure={box} /></figcaption>
      <svg viewBox={`0 0 300 ${height}`} width={300} height={height} preserveAspectRatio="xMinYMin meet" role="img" aria-label={`${title}: ${rows.map((row) => `${row.label} ${format(row.mean)}`).join(", ")}`}>
        {zero && <line class="grid" x1={place(0)} x2={place(0)} y1={4} y2={height - 4} />}
        {rows.map((row, i) => (
          <g key={row.label}>
            <text x={12} y={20 + i * 40} class="strong">{row.label}</text>
            <text x={288} y={20 + i * 40} text-anchor="end">{format(row.mean)} ({format(row.low)} to {format(row.high)})</text>
            <line class={`line s${row.colour % COLOURS}`} x1={place(row.low)} x2={place(row.high)} y1={33 + i * 40} y2={33 + i * 40} />
            <circle class={`f${row.colour % COLOURS}`} cx={place(row.mean)} cy={33 + i * 40} r={4} />
          </g>
        ))}
      </svg>
    </figure>
  );
}

function Paired({ result }: { result: Pairs }) {
  const differences = [...result.differences, ...result.win_rate_differences];
  const format = (one: Difference) => (value: number): string => (one.metric === "win_rate" ? `${(100 * value).toFixed(1)} pts` : short(value));
  return (
    <>
      <h2>On the same seeds</h2>
      <ul class="sentences">{differences.map((one) => <li key={`${one.metric}${one.one}${one.other}`} class={one.significant ? "sure" : ""}>{one.sentence}</li>)}</ul>
      <div class="many">
        {differences.map((one, i) => <Intervals key={i} zero title={`${plain(one.metric)}: difference`} format={format(one)} rows={[{ label: `${one.one} − ${one.other}`, colour: one.significant ? 3 : 7, ...one.difference }]} />)}
      </div>
      <p class="quiet">{differences[0] && `${differences[0].one} did better in ${differences[0].better}, the same in ${differences[0].equal}, worse in ${differences[0].worse} games.`}</p>
      <Evaluations judged={result.policies} />
    </>
  );
}

function Crossed({ result }: { result: Cross }) {
  const box = useRef<HTMLElement>(null);
  const rate = new Map<string, number>();
  for (const pair of result.pairs) {
    const share = (pair.won + 0.5 * pair.tied) / Math.max(1, pair.games);
    rate.set(`${pair.player}|${pair.opponent}`, share);
    rate.set(`${pair.opponent}|${pair.player}`, 1 - share);
  }
  const names = result.ratings.map((one) => one.player);
  const side = 92;
  const cut = (name: string, most: number): string => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
  const left = 150;
  return (
    <>
      <h2>All against all</h2>
      <div class="many">
        <Intervals title="Rating (Bradley–Terry)" format={(value) => Math.round(value).toString()} rows={result.ratings.map((one, i) => ({ label: one.player, colour: i, mean: one.rating, low: one.low, high: one.high }))} />
      </div>
      <figure class="chart" ref={box}>
        <figcaption><span class="title">Points of the row against the column</span><Keep name="Who beats whom" figure={box} /></figcaption>
        <div class="wide">
          <svg class="fixed" width={left + names.length * side} height={40 + names.length * 34} viewBox={`0 0 ${left + names.length * side} ${40 + names.length * 34}`} role="img" aria-label="Who beats whom">
            {names.map((name, i) => <text key={name} x={left + i * side + side / 2} y={22} text-anchor="middle"><title>{name}</title>{cut(name, 15)}</text>)}
            {names.map((name, row) => (
              <g key={name}>
                <text x={left - 10} y={56 + row * 34} text-anchor="end" class="strong"><title>{name}</title>{cut(name, 21)}</text>
                {names.map((other, col) => {
                  const value = rate.get(`${name}|${other}`);
                  return value === undefined ? null : (
                    <g key={other}>
                      <rect class={value >= 0.5 ? "f3" : "f0"} x={left + col * side + 2} y={36 + row * 34} width={side - 4} height={30} rx={4} opacity={0.12 + 0.7 * Math.abs(value - 0.5)} />
                      <text x={left + col * side + side / 2} y={56 + row * 34} text-anchor="middle" class="strong">{percent(value)}</text>
                    </g>
                  );
                })}
              </g>
            ))}
          </svg>
        </div>
      </figure>
    </>
  );
}
