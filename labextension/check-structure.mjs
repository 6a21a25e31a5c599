// Checks what no ESLint rule covers: files are named in kebab-case, and no module imports itself by way of others.
// ESLint's `no-cycle` rules skip `import type`; here it counts, because modules whose types form a circle cannot be
// read or moved one by one either.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import process from "node:process";
import ts from "typescript";

process.chdir(import.meta.dirname);

const SOURCE = /^[^/]+\/(?:src|test|browser)\/.*\.[cm]?ts$/;
const KEBAB_CASE = /^[a-z0-9]+(?:[-.][a-z0-9]+)*$/;

const files = readdirSync("packages", { recursive: true })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => SOURCE.test(path));
const misnamed = files.filter((path) => !path.split("/").every((part) => KEBAB_CASE.test(part)));

/** The module's imports of modules of the same package; `svc` and `svc-chat` cannot lead back, as ESLint sees to. */
function importsOf(path) {
  const { importedFiles } = ts.preProcessFile(readFileSync(join("packages", path), "utf8"));
  return importedFiles
    .map(({ fileName }) => fileName)
    .filter((name) => name.startsWith("."))
    .map((name) => join(dirname(path), name).replace(/\.js$/, ".ts"));
}

const imports = new Map(files.map((path) => [path, importsOf(path)]));
const finished = new Set();
const cycles = [];

/** Depth first: a module that is met again on the way to itself closes a circle. */
function visit(path, way) {
  if (way.includes(path)) cycles.push([...way.slice(way.indexOf(path)), path]);
  else if (!finished.has(path)) {
    for (const imported of imports.get(path) ?? []) visit(imported, [...way, path]);
    finished.add(path);
  }
}

for (const path of files) visit(path, []);
for (const path of misnamed) console.error(`packages/${path}: not in kebab-case`);
for (const cycle of cycles) console.error(`import cycle: ${cycle.join(" -> ")}`);
if (misnamed.length + cycles.length > 0) process.exit(1);
