// Builds the script and style sheet that every service serves, and the module of the notebook's widget.
import { build } from "esbuild";
import { rm, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import process from "node:process";
import { packagesIn } from "../../bundled.mjs";
import { asGlobal, bundling, withoutBreaks } from "./bundling.mjs";

process.chdir(import.meta.dirname);

const LIMIT_BYTES = 62_000; // gzipped; the peers' scripts are 111,000 to 141,000
const NOTICES =
  "/*! svc-chat, Apache-2.0; lit-html (c) Google LLC, BSD-3-Clause; marked (c) MarkedJS, Christopher Jeffrey, MIT; DOMPurify (c) Cure53, Apache-2.0 or MPL-2.0 */\n";

await rm("dist", { recursive: true, force: true });
await build({ entryPoints: ["src/host.css"], outfile: "dist/swc.css", bundle: true, minify: true });
const { outputFiles, metafile } = await build({
  entryPoints: ["src/index.ts"],
  format: "esm",
  ...bundling,
});
const script = outputFiles.map(({ text }) => asGlobal("swc", withoutBreaks(text))).join("");
const whole = `${NOTICES}${script}`;
const bytes = gzipSync(whole, { level: 9 }).length;
if (bytes > LIMIT_BYTES) throw new Error(`swc.iife.js is ${bytes} bytes gzipped; ${LIMIT_BYTES} are allowed`);
console.log(`swc.iife.js: ${bytes} bytes gzipped`);
await writeFile("dist/swc.iife.js", whole);

const widget = await build({ entryPoints: ["src/widget.ts"], format: "esm", ...bundling });
const text = widget.outputFiles.map((file) => withoutBreaks(file.text)).join("");
await writeFile("dist/panel.js", `${NOTICES}${text}`);

const contents = { "swc.iife.js": packagesIn(metafile), "panel.js": packagesIn(widget.metafile) };
await writeFile("dist/bundled.json", JSON.stringify(contents));
