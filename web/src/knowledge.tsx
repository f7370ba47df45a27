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

interface Found {
  game: string;
  total: number;
  found: number;
  channels: string[];
  evidences: string[];
  edges: Edge[];
  nodes: Record<string, { name: string; label: string; words: string }>;
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
