/** A drawing as a file: SVG as it is, with its colours written into it, or PNG at twice its size. */
import type { RefObject } from "preact";

const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "font-family", "font-size", "font-weight", "text-anchor"];

function written(svg: SVGSVGElement, title: string): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const theirs = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(theirs[i] as Element);
    for (const name of STYLES) {
      const value = style.getPropertyValue(name);
      if (value) element.setAttribute(name, value);
    }
    element.removeAttribute("class");
  });
  const { width, height } = svg.getBoundingClientRect();
  const head = 24;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height + head));
  copy.setAttribute("viewBox", `0 ${-head} ${width} ${height + head}`);
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const page = getComputedStyle(document.body);
  for (const [name, value] of Object.entries({ x: 0, y: -head, width, height: height + head, fill: page.backgroundColor }))
    paper.setAttribute(name, String(value));
  const words = document.createElementNS("http://www.w3.org/2000/svg", "text");
  for (const [name, value] of Object.entries({ x: 8, y: -7, fill: page.color, "font-family": "sans-serif", "font-size": 13, "font-weight": 600 }))
    words.setAttribute(name, String(value));
  words.textContent = title;
  copy.prepend(paper, words);
  return new XMLSerializer().serializeToString(copy);
}

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\w.-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function png(text: string, width: number, height: number): Promise<Blob> {
  const picture = new Image();
  const source = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  await new Promise((resolve, reject) => {
    picture.addEventListener("load", resolve);
    picture.addEventListener("error", reject);
    picture.src = source;
  });
  const canvas = document.createElement("canvas");
  canvas.width = width * 2;
  canvas.height = height * 2;
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(source);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png"));
}

export function Keep({ name, figure }: { name: string; figure: RefObject<HTMLElement | null> }) {
  const take = async (kind: "svg" | "png"): Promise<void> => {
    const svg = figure.current?.querySelector<SVGSVGElement>("svg");
    if (!svg) return;
    const text = written(svg, name);
    const { width, height } = svg.getBoundingClientRect();
    save(kind === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await png(text, width, height + 24), `${name}.${kind}`);
  };
  return (
    <span class="keep">
      <button type="button" title="Keep this picture as SVG" onClick={() => void take("svg")}>SVG</button>
      <button type="button" title="Keep this picture as PNG" onClick={() => void take("png")}>PNG</button>
    </span>
  );
}
