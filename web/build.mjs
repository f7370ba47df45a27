// Builds the page into jimbot/viewer/static, and leaves there what it was built from (built.json): a test compares.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.env.JIMBOT_WEB_TARGET ?? join(here, "..", "jimbot", "viewer", "static");
const inputs = ["build.mjs", "index.html", "package-lock.json", "package.json", "tsconfig.json"];

function sources() {
  const inside = readdirSync(join(here, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(here, join(entry.parentPath, entry.name)).split(sep).join("/"));
  return [...inputs, ...inside].sort();
}

function digest(names, folder) {
  const hash = createHash("sha256");
  for (const name of names) hash.update(`${name}\0`).update(readFileSync(join(folder, name))).update("\0");
  return hash.digest("hex");
}

function seal() {
  copyFileSync(join(here, "index.html"), join(target, "index.html"));
  const files = ["app.css", "app.js", "index.html", "review.js"];
  const pages = Object.keys(JSON.parse(readFileSync(join(here, "src", "pages.json"), "utf8")));
  const built = { pages, sources: digest(sources(), here), files: digest(files, target) };
  writeFileSync(join(target, "built.json"), `${JSON.stringify(built, null, 1)}\n`);
}

mkdirSync(target, { recursive: true });
const settings = {
  entryPoints: { app: join(here, "src", "main.tsx"), review: join(here, "src", "review_file.tsx") },
  outdir: target,
  bundle: true,
  minify: true,
  legalComments: "inline",
  charset: "utf8",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
};
if (process.argv.includes("--watch")) {
  const watching = await context({ ...settings, plugins: [{ name: "seal", setup: (one) => one.onEnd(seal) }] });
  await watching.watch();
} else {
  await build(settings);
  seal();
}
