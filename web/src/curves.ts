/** Curves of several runs over each other: asked for together, then only what is new, and only of those that grew. */
import { useEffect, useRef, useState } from "preact/hooks";
import { get, type Query, versionOf } from "./api";
import type { Span } from "./chart";

export interface Curve {
  x: number[];
  y: number[];
  low: number[];
  high: number[];
  exact: boolean;
  rows: number;
  last: number | null;
}

/** What is known of one run. */
interface Part {
  curves: Record<string, Curve>;
  /** Where its newest row is; what comes after it is new. */
  until: number | null;
  /** Another one when rows were taken away. */
  file: string;
  /** The server still reads: these are some rows of a long run. */
  behind: boolean;
  version: number;
}

export interface Wanted {
  names: string[];
  axis: string;
  smooth: number;
  span: Span | null;
}

const MANY = 8; // runs; more of them get fewer points each
const LOOK_AGAIN = 2000; // milliseconds, while the server reads

/** The curves of every run by name; `stamp` says that some may have grown. */
export function useCurves(keys: string[], wanted: Wanted, open: boolean, stamp: number): Record<string, Part> {
  const [shown, show] = useState<Record<string, Part>>({});
  const [again, setAgain] = useState(0);
  const points = keys.length > MANY ? 160 : 400;
  const asked = JSON.stringify([wanted, points]);
  const held = useRef({ asked, parts: {} as Record<string, Part> });
  useEffect(() => {
    if (!open) return;
    if (held.current.asked !== asked) held.current = { asked, parts: {} };
    const { parts } = held.current;
    const stop = new AbortController();
    let due = 0;
    renew(keys, parts, wanted, points, stop.signal).then((renewed) => {
      if (stop.signal.aborted) return;
      Object.assign(parts, renewed);
      if (Object.keys(renewed).length) show({ ...parts });
      if (keys.some((key) => parts[key]?.behind)) due = window.setTimeout(() => setAgain((old) => old + 1), LOOK_AGAIN);
    }, () => undefined);
    return () => {
      stop.abort();
      clearTimeout(due);
    };
  }, [asked, keys.join("\n"), open, stamp, again]);
  return shown;
}

/** The parts that are not up to date, as they are now. */
async function renew(keys: string[], parts: Record<string, Part>, wanted: Wanted, points: number, signal: AbortSignal): Promise<Record<string, Part>> {
  const { names, axis, smooth, span } = wanted;
  const versions = new Map(keys.map((key) => [key, versionOf(key)]));
  const ask = async (run: string[], more: Query = {}): Promise<Record<string, Part>> =>
    run.length ? get("/api/curves", { run, names, axis, smooth, points, start: span?.start, end: span?.end, ...more }, signal) : {};
  const stale = keys.filter((key) => parts[key]?.version !== versions.get(key) || parts[key]?.behind);
  const behind = stale.filter((key) => parts[key]?.behind);
  const grown = stale.filter((key) => !span && !behind.includes(key) && typeof parts[key]?.until === "number");
  const fresh = stale.filter((key) => !behind.includes(key) && !grown.includes(key));
  const [whole, tails, found] = await Promise.all([
    ask(behind, { whole: true }),
    ask(grown, { since: grown.map((key) => String(parts[key]?.until)) }),
    ask(fresh),
  ]);
  const renewed = { ...whole, ...found };
  const cut: string[] = [];
  for (const key of grown) {
    const [old, tail] = [parts[key], tails[key]];
    if (old && tail && tail.file === old.file && !tail.behind) renewed[key] = joined(old, tail, points);
    else cut.push(key);
  }
  Object.assign(renewed, await ask(cut));
  for (const [key, part] of Object.entries(renewed)) part.version = versions.get(key) ?? 0;
  return renewed;
}

/** What was known and what came after it; when there are too many points, all is asked for the next time. */
function joined(old: Part, tail: Part, points: number): Part {
  const until = old.until ?? -Infinity;
  const curves = { ...old.curves };
  for (const [name, more] of Object.entries(tail.curves)) {
    const known = curves[name];
    curves[name] = known ? longer(known, more, until) : more;
  }
  const full = Object.values(curves).some((curve) => curve.x.length > 2 * points);
  return { ...tail, curves, until: full ? null : tail.until };
}

function longer(known: Curve, more: Curve, until: number): Curve {
  const first = more.x.findIndex((x) => x > until);
  if (first < 0) return known;
  const both = (name: "x" | "y" | "low" | "high"): number[] => known[name].concat(more[name].slice(first));
  const exact = known.exact && more.exact;
  return { x: both("x"), y: both("y"), low: both("low"), high: both("high"), exact, rows: known.rows + more.x.length - first, last: more.last ?? known.last };
}
