/** Numbers, dates and names for people. */

const UNITS: [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** 4554752 → "4.55 M" */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  for (const [unit, word] of UNITS) if (size >= unit) return `${digits(value / unit)} ${word}`;
  if (size > 0 && size < 0.001) return value.toExponential(1);
  return digits(value);
}

function digits(value: number): string {
  const text = Number.isInteger(value) && Math.abs(value) < 1000 ? String(value) : value.toPrecision(3);
  return text.includes("e") ? String(Number(text)) : text.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

export const whole = (value: number): string => Math.round(value).toLocaleString("en");

export const percent = (value: number): string => `${(100 * value).toFixed(value > 0 && value < 0.1 ? 1 : 0)} %`;

export function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${short(value).replace("-", "−")}`;
}

export function age(seconds: number): string {
  for (const [unit, word] of [[86400, "d"], [3600, "h"], [60, "min"]] as [number, string][])
    if (seconds >= unit) return `${Math.floor(seconds / unit)} ${word}`;
  return `${Math.max(0, Math.floor(seconds))} s`;
}

export function bytes(count: number): string {
  for (const [unit, word] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]] as [number, string][])
    if (count >= unit) return `${digits(count / unit)} ${word}`;
  return `${count} B`;
}

export function date(seconds: number): string {
  return new Date(seconds * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** "train/mean_episode_return" → "mean episode return" */
export function plain(name: string): string {
  const after = name.includes("/") ? name.slice(name.indexOf("/") + 1) : name;
  return after.replace(/_/g, " ");
}
