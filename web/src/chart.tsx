/** Curves as SVG: bands, lines, stacked shares; a cursor that reads values; dragging zooms; pictures can be kept. */
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { short } from "./format";
import { Keep } from "./keep";

export interface Line {
  label: string;
  colour: number;
  x: number[];
  y: number[];
  low?: number[];
  high?: number[];
  dots?: boolean;
  /** The newest value as it was measured, where `y` is smoothed. */
  last?: number | null;
}

export interface Span {
  start: number;
  end: number;
}

interface Props {
  title: string;
  lines: Line[];
  kind?: "lines" | "stack";
  log?: boolean;
  height?: number;
  xWords?: string;
  format?: (value: number) => string;
  xFormat?: (value: number) => string;
  zoom?: (span: Span | null) => void;
  span?: Span | null;
  zero?: boolean;
  legend?: boolean;
  marks?: { x: number; words: string }[];
}

const LEFT = 46, RIGHT = 10, TOP = 8, BOTTOM = 22;
export const COLOURS = 8;

/** Round places on an axis. */
export function ticks(low: number, high: number, many: number): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, many);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5, 10].find((one) => one * unit >= rough) ?? 10);
  const found: number[] = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  return found;
}

function logTicks(low: number, high: number): number[] {
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) found.push(10 ** power);
  return found.filter((one) => one >= low * 0.999 && one <= high * 1.001);
}

function extent(values: Iterable<number>): [number, number] {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}

function useWidth(): [RefObject<HTMLDivElement | null>, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(320);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.max(160, Math.round(entry.contentRect.width))));
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return [box, width];
}

/** Each line on top of the ones before it. */
function stacked(lines: Line[]): Line[] {
  let floor: number[] = [];
  return lines.map((line) => {
    const low = line.x.map((_, i) => floor[i] ?? 0);
    const high = line.y.map((value, i) => value + (low[i] ?? 0));
    floor = high;
    return { ...line, low, high, y: high };
  });
}

const nearest = (x: number[], at: number): number => {
  let first = 0, last = x.length - 1;
  while (last - first > 1) {
    const middle = (first + last) >> 1;
    if ((x[middle] ?? 0) < at) first = middle;
    else last = middle;
  }
  return Math.abs((x[first] ?? 0) - at) <= Math.abs((x[last] ?? 0) - at) ? first : last;
};

export function Chart(props: Props) {
  const { title, kind = "lines", log = false, height = 170, format = short, xFormat = short, zoom, span } = props;
  const [box, width] = useWidth();
  const [cursor, setCursor] = useState<number | null>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const lines = useMemo(() => {
    const known = props.lines.filter((line) => line.x.length);
    if (kind === "stack") return stacked(known);
    return log ? known.map(positive) : known;
  }, [props.lines, kind, log]);

  const [xLow, xHigh] = useMemo(() => span ? [span.start, span.end] : extent(lines.flatMap((line) => [line.x[0] ?? 0, line.x.at(-1) ?? 1])), [lines, span]);
  const [yLow, yHigh] = useMemo(() => {
    const inside = lines.flatMap((line) => line.y.concat(line.low ?? [], line.high ?? []).filter((_, i) => {
      const x = line.x[i % line.x.length] ?? 0;
      return x >= xLow && x <= xHigh;
    }));
    let [low, high] = extent(inside);
    if (kind === "stack" || props.zero) low = Math.min(0, low);
    if (log) return [low, high > low ? high : low * 10];
    if (low === high) [low, high] = [low - Math.abs(low) * 0.1 - 0.01, high + Math.abs(high) * 0.1 + 0.01];
    const room = kind === "stack" || (low >= 0 && props.zero) ? 0 : (high - low) * 0.06;
    return [low - (low === 0 ? 0 : room), high + room];
  }, [lines, xLow, xHigh, log, kind, props.zero]);

  const inner = width - LEFT - RIGHT;
  const sx = (value: number): number => LEFT + (inner * (value - xLow)) / (xHigh - xLow || 1);
  const scale = log ? Math.log10 : (value: number): number => value;
  const sy = (value: number): number =>
    height - BOTTOM - ((height - TOP - BOTTOM) * (scale(value) - scale(yLow))) / (scale(yHigh) - scale(yLow) || 1);
  const back = (pixel: number): number => xLow + ((pixel - LEFT) / inner) * (xHigh - xLow);

  const path = (line: Line): string => line.y.map((value, i) => `${i ? "L" : "M"}${sx(line.x[i] ?? 0).toFixed(1)} ${sy(value).toFixed(1)}`).join("");
  const band = (line: Line): string => {
    if (!line.low || !line.high) return "";
    const { low, x } = line;
    const up = line.high.map((value, i) => `${i ? "L" : "M"}${sx(x[i] ?? 0).toFixed(1)} ${sy(value).toFixed(1)}`);
    const down = low.map((value, i) => `L${sx(x[i] ?? 0).toFixed(1)} ${sy(value).toFixed(1)}`).toReversed();
    return `${up.join("")}${down.join("")}Z`;
  };
  const paths = useMemo(  // a cursor that moves leaves them as they are
    () => lines.map((line) => ({ line: kind === "lines" ? path(line) : "", band: band(line) })),
    [lines, kind, width, height, xLow, xHigh, yLow, yHigh, log],
  );

  const pixel = (event: PointerEvent): number => event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
  const move = (event: PointerEvent): void => {
    setCursor(back(pixel(event)));
    if (drag) setDrag([drag[0], pixel(event)]);
  };
  const up = (): void => {
    if (drag && zoom && Math.abs(drag[1] - drag[0]) > 6) zoom({ start: back(Math.min(...drag)), end: back(Math.max(...drag)) });
    setDrag(null);
  };
  const key = (event: KeyboardEvent): void => {
    const step = (xHigh - xLow) / 40;
    const at = cursor ?? xHigh;
    if (event.key === "ArrowLeft") setCursor(Math.max(xLow, at - step));
    else if (event.key === "ArrowRight") setCursor(Math.min(xHigh, at + step));
    else if (event.key === "Escape") zoom?.(null);
    else return;
    event.preventDefault();
  };

  const shown = cursor === null ? [] : lines.map((line) => ({ line, at: nearest(line.x, cursor) }));
  const at = shown[0] ? (shown[0].line.x[shown[0].at] ?? null) : null;
  const original = (line: Line): Line => props.lines.find((one) => one.label === line.label) ?? line;
  const yTicks = log ? logTicks(yLow, yHigh) : ticks(yLow, yHigh, height > 220 ? 6 : 4);
  const last = lines[0]?.last ?? lines[0]?.y.at(-1);

  return (
    <figure class="chart" ref={box}>
      <figcaption>
        <span class="title">{title}</span>
        {lines.length === 1 && last !== undefined && kind === "lines" && <span class="last">{format(last)}</span>}
        <Keep name={title} figure={box} />
      </figcaption>
      {lines.length === 0 ? <p class="quiet">no values yet</p> : (
        <svg
          width={width} height={height} viewBox={`0 0 ${width} ${height}`} tabIndex={0} role="img" aria-label={title}
          onPointerMove={move} onPointerLeave={() => { setCursor(null); setDrag(null); }}
          onPointerDown={(event) => zoom && event.button === 0 && setDrag([pixel(event), pixel(event)])}
          onPointerUp={up} onDblClick={() => zoom?.(null)} onKeyDown={key}
        >
          {yTicks.map((value) => (
            <g key={value}>
              <line class="grid" x1={LEFT} x2={width - RIGHT} y1={sy(value)} y2={sy(value)} />
              <text x={LEFT - 6} y={sy(value) + 4} text-anchor="end">{format(value)}</text>
            </g>
          ))}
          {ticks(xLow, xHigh, Math.max(2, Math.floor(inner / 90))).map((value) => (
            <text key={value} x={sx(value)} y={height - 6} text-anchor="middle">{xFormat(value)}</text>
          ))}
          <clipPath id={`clip-${width}-${height}`}><rect x={LEFT} y={0} width={inner} height={height - BOTTOM + 1} /></clipPath>
          <g clip-path={`url(#clip-${width}-${height})`}>
            {lines.map((line, i) => line.low && <path key={line.label} class={kind === "stack" ? `area f${line.colour % COLOURS}` : `band f${line.colour % COLOURS} s${line.colour % COLOURS}`} d={paths[i]?.band ?? ""} />)}
            {kind === "lines" && lines.map((line, i) => <path key={line.label} class={`line s${line.colour % COLOURS}`} d={paths[i]?.line ?? ""} />)}
            {kind === "lines" && lines.filter((line) => line.x.length < 40).map((line) =>
              line.y.map((value, i) => <circle key={`${line.label}${i}`} class={`f${line.colour % COLOURS}`} cx={sx(line.x[i] ?? 0)} cy={sy(value)} r={2.2} />))}
            {props.marks?.map((mark) => (
              <line key={mark.x} class="mark" x1={sx(mark.x)} x2={sx(mark.x)} y1={TOP} y2={height - BOTTOM}><title>{mark.words}</title></line>
            ))}
          </g>
          {at !== null && <line class="cursor" x1={sx(at)} x2={sx(at)} y1={TOP} y2={height - BOTTOM} />}
          {kind === "lines" && shown.map(({ line, at: i }) => (
            <circle key={line.label} class={`f${line.colour % COLOURS}`} cx={sx(line.x[i] ?? 0)} cy={sy(line.y[i] ?? 0)} r={3.5} />
          ))}
          {drag && <rect class="drag" x={Math.min(...drag)} y={TOP} width={Math.abs(drag[1] - drag[0])} height={height - TOP - BOTTOM} />}
        </svg>
      )}
      {at !== null && (
        <div class="reading" aria-live="polite">
          <b>{xFormat(at)} {props.xWords}</b>
          {shown.map(({ line, at: i }) => (
            <span key={line.label}><i class={`dot f${line.colour % COLOURS}`} />{lines.length > 1 && `${line.label} `}{format(original(line).y[i] ?? NaN)}</span>
          ))}
        </div>
      )}
      {props.legend !== false && lines.length > 1 && at === null && (
        <div class="legend">{lines.map((line) => <span key={line.label}><i class={`dot f${line.colour % COLOURS}`} />{line.label}</span>)}</div>
      )}
    </figure>
  );
}

/** Only what a logarithm has a place for. */
function positive(line: Line): Line {
  const kept = line.y.map((_, i) => i).filter((i) => (line.y[i] ?? 0) > 0);
  const pick = (values: number[] | undefined, other: number[]): number[] => kept.map((i) => Math.max(values?.[i] ?? other[i] ?? 0, Number.MIN_VALUE));
  const floor = (values: number[]): number[] => {
    const least = Math.min(...kept.map((i) => line.y[i] ?? 1));
    return values.map((value) => Math.max(value, least));
  };
  return { ...line, x: kept.map((i) => line.x[i] ?? 0), y: pick(line.y, line.y), ...(line.low && { low: floor(pick(line.low, line.y)), high: pick(line.high, line.y) }) };
}

export function Spark({ values }: { values: number[] }) {
  if (values.length < 2) return <span class="quiet" aria-hidden="true">·</span>;
  const [low, high] = extent(values);
  const place = (value: number, i: number): string =>
    `${((i / (values.length - 1)) * 96 + 2).toFixed(1)} ${(22 - (20 * (value - low)) / (high - low || 1)).toFixed(1)}`;
  return (
    <svg class="spark" viewBox="0 0 100 24" width="100" height="24" aria-hidden="true" preserveAspectRatio="none">
      <path class="line s0" d={`M${values.map(place).join("L")}`} />
    </svg>
  );
}
