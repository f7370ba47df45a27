/** What works together: the strongest claims with their evidence, drawn around one thing or listed. */
import { useMemo, useRef, useState } from "preact/hooks";
import { address, useGet } from "./api";
import { COLOURS } from "./chart";
import { plain, short, whole } from "./format";
import { Keep } from "./keep";
import { Complaint, Empty, Scroll, Typed, useSettled } from "./parts";
import { change, usePlace } from "./place";

interface Edge {
  type: string;
  a: string;
  b: string;
  strength: number;
  low: number;
  high: number;
  channel: string;
  evidence: string;
  samples: number;
  command: string;
  others: string[];
}

/** What trials say a part is worth: games won with it beyond those without. */
interface Effect {
  part: string;
  name?: string;
  options: string;
  at: number;
  games: number;
  won: number;
  wins: number;
  wins_low: number;
  wins_high: number;
  further: number;
}

interface Found {
  game: string;
  total: number;
  found: number;
  channels: string[];
  evidences: string[];
  edges: Edge[];
  nodes: Record<string, { name: string; label: string; words: string }>;
  effects: Effect[];
}

const DRAWN = 60;

export function Knowledge() {
  const { query } = usePlace();
  const [text, setText] = useState(query.get("text") ?? "");
  const settled = useSettled(text);
  const channel = query.get("channel") ?? "";
  const evidence = query.get("evidence") ?? "";
  const around = query.get("around") ?? "";
  const { data, error } = useGet<Found>(address("/api/knowledge", { text: settled, channel, evidence, around }));
  if (!data) return error ? <Empty level={1} title="Nothing is known yet"><p>{error}</p></Empty> : <p class="quiet">Reading the graph…</p>;
  const middle = around ? data.nodes[around] : undefined;
  return (
    <>
      <header class="head">
        <h1>Knowledge</h1>
        <p class="lead">{whole(data.total)} claims about {data.game}, each with its interval and how to measure it again</p>
      </header>
      <Complaint text={error} />
      {data.total === 0 ? <Empty title="Nothing was measured yet"><p>The graph holds what the simulator measures: which things work together, and how sure that is.</p><Typed label="The command" text="jimbot graph build" /></Empty> : (
        <>
          <div class="tools">
            <input type="search" class="short" placeholder="Filter by name …" aria-label="Filter by name" value={text} onInput={(event) => setText(event.currentTarget.value)} />
            <Select label="Channel" value={channel} values={data.channels} set={(value) => change({ channel: value })} />
            <Select label="Evidence" value={evidence} values={data.evidences} set={(value) => change({ evidence: value })} />
            {around && <button type="button" onClick={() => change({ around: null }, false)}>{middle?.name ?? around} ×</button>}
          </div>
          {middle && <p class="note box"><b>{middle.name}</b> {middle.words}</p>}
          <Effects found={data.effects} around={around} name={middle?.name ?? around} />
          <p class="quiet">{whole(data.found)} fit, the strongest {whole(data.edges.length)} are listed; click a name to see what surrounds it.</p>
          <Scroll label="Claims">
            <table class="claims">
              <thead><tr><th>what</th><th>claim</th><th class="n">strength</th><th>evidence</th><th class="n">samples</th><th>measure it again</th></tr></thead>
              <tbody>
                {data.edges.map((edge, i) => (
                  <tr key={i}>
                    <td>{[edge.a, edge.b, ...edge.others].map((key, n) => <span key={key}>{n > 0 && " + "}<button type="button" class="plain" title={data.nodes[key]?.words} onClick={() => change({ around: key }, false)}>{data.nodes[key]?.name ?? key}</button></span>)}</td>
                    <td>{plain(edge.type.toLowerCase())}{edge.channel && ` (${edge.channel})`}</td>
                    <td class="n">{short(edge.strength)} <small>({short(edge.low)} to {short(edge.high)})</small></td>
                    <td>{edge.evidence}</td>
                    <td class="n">{whole(edge.samples)}</td>
                    <td class="code">{edge.command}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
          <h2>As a picture</h2>
          <Picture found={data} around={around} />
        </>
      )}
    </>
  );
}

const LISTED = 15;

/** Effects on winning with their intervals: of one part by milestone, else the parts that are worth most and least. */
function Effects({ found, around, name }: { found: Effect[]; around: string; name: string }) {
  const box = useRef<HTMLElement>(null);
  if (found.length === 0) return null;
  const shown = around || found.length <= 2 * LISTED ? found : [...found.slice(0, LISTED), ...found.slice(-LISTED)];
  const low = Math.min(0, ...shown.map((one) => one.wins_low));
  const high = Math.max(0, ...shown.map((one) => one.wins_high));
  const place = (value: number) => 270 + (430 * (value - low)) / Math.max(1e-9, high - low);
  const label = (one: Effect) => (around ? `${one.at ? `from ante ${one.at} on` : "from any ante on"}${one.options ? `, ${one.options}` : ""}` : one.name ?? one.part);
  const points = (value: number) => `${value < 0 ? "−" : "+"}${Math.abs(100 * value).toFixed(1)}`;
  return (
    <figure class="chart" ref={box}>
      <figcaption><span class="title">{around ? `What ${name} is worth in games won` : "What parts are worth in games won"}, in points with intervals of 95 %: coins gave it to some runs of a seed and not to others</span><Keep name="effects" figure={box} /></figcaption>
      <svg viewBox={`0 0 800 ${24 * shown.length + 30}`} role="img" aria-label="Effects on winning">
        <line x1={place(0)} x2={place(0)} y1={4} y2={24 * shown.length + 6} class="axis" />
        {shown.map((one, i) => {
          const y = 24 * i + 18;
          const sure = one.wins_low > 0 || one.wins_high < 0;
          return (
            <g key={i} class={around ? "" : "node"} onClick={() => !around && change({ around: one.part }, false)} opacity={sure ? 1 : 0.55}>
              <title>{`${label(one)}: ${points(one.wins)} points (${points(one.wins_low)} to ${points(one.wins_high)}), ${one.further.toFixed(1)} blinds further, ${whole(one.games)} runs with it; ${(100 * one.won).toFixed(0)} % of the others won`}</title>
              <text x={262} y={y + 4} text-anchor="end">{label(one)}</text>
              <path class={`line s${one.wins < 0 ? 1 : 0}`} stroke-width={3} d={`M${place(one.wins_low)} ${y}H${place(one.wins_high)}`} />
              <circle cx={place(one.wins)} cy={y} r={5} class={`f${one.wins < 0 ? 1 : 0}`} />
              <text x={792} y={y + 4} text-anchor="end">{points(one.wins)}</text>
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

function Select({ label, value, values, set }: { label: string; value: string; values: string[]; set: (value: string) => void }) {
  return <label class="inline">{label} <select value={value} onChange={(event) => set(event.currentTarget.value)}><option value="">all</option>{values.map((one) => <option key={one}>{one}</option>)}</select></label>;
}

/** The things on a circle, or around one of them; a line is as strong as it is thick. */
function Picture({ found, around }: { found: Found; around: string }) {
  const box = useRef<HTMLElement>(null);
  const edges = found.edges.slice(0, DRAWN);
  const places = useMemo(() => {
    const keys = [...new Set(edges.flatMap((edge) => [edge.a, edge.b]))].filter((key) => key !== around);
    const all = new Map<string, { x: number; y: number; angle: number }>();
    keys.forEach((key, i) => {
      const angle = (2 * Math.PI * i) / keys.length;
      all.set(key, { x: 400 + 210 * Math.cos(angle), y: 280 + 210 * Math.sin(angle), angle });
    });
    if (around) all.set(around, { x: 400, y: 280, angle: 0 });
    return all;
  }, [found, around]);
  const most = Math.max(...edges.map((edge) => Math.abs(edge.strength)), 1e-9);
  if (edges.length === 0) return null;
  return (
    <figure class="chart" ref={box}>
      <figcaption><span class="title">The strongest {edges.length}</span><Keep name="knowledge" figure={box} /></figcaption>
      <svg viewBox="0 0 800 560" role="img" aria-label="What works together">
        {edges.map((edge, i) => {
          const one = places.get(edge.a);
          const other = places.get(edge.b);
          return one && other ? (
            <path key={i} class={`line s${Math.max(0, found.channels.indexOf(edge.channel)) % COLOURS}`} stroke-width={0.6 + (4 * Math.abs(edge.strength)) / most} opacity={0.55}
              d={`M${one.x} ${one.y}Q400 280 ${other.x} ${other.y}`}><title>{`${found.nodes[edge.a]?.name} + ${found.nodes[edge.b]?.name}: ${short(edge.strength)} (${edge.channel}, ${edge.evidence})`}</title></path>
          ) : null;
        })}
        {[...places].map(([key, { x, y, angle }]) => {
          const centre = key === around;
          const flip = Math.cos(angle) < 0;
          const turn = (angle * 180) / Math.PI + (flip ? 180 : 0);
          return (
            <g key={key} class="node" onClick={() => change({ around: key }, false)}>
              <circle cx={x} cy={y} r={centre ? 7 : 4} class="f7" />
              <text x={x + (centre ? 0 : flip ? -9 : 9)} y={centre ? y - 12 : y + 4} text-anchor={centre ? "middle" : flip ? "end" : "start"} transform={centre ? undefined : `rotate(${turn.toFixed(1)} ${x} ${y})`}>{found.nodes[key]?.name ?? key}</text>
            </g>
          );
        })}
      </svg>
      <div class="legend">{found.channels.map((name, i) => <span key={name}><i class={`dot f${i % COLOURS}`} />{name}</span>)}</div>
    </figure>
  );
}
