// Builds what every service serves: one script with everything in it, and the host's style sheet.
import { build, transform } from "esbuild";
import { readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";
import process from "node:process";

process.chdir(import.meta.dirname);

const LIMIT_BYTES = 61_440; // gzipped, 60 KiB; the peers' scripts are 111,000 to 141,000
const SDK = new URL("../sdk/src/index.ts", import.meta.url).pathname;

/** DOMPurify's own minified file: 3 % smaller than what any other minifier makes of its source. */
const DOMPURIFY = createRequire(import.meta.url)
  .resolve("dompurify")
  .replace(/[^/]+$/, "purify.min.js");

/** That file as a module, without what a bundler puts around CommonJS. */
const purify = {
  name: "purify",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^dompurify$/ }, () => ({ path: DOMPURIFY, namespace: "purify" }));
    onLoad({ filter: /.*/, namespace: "purify" }, async ({ path }) => {
      const script = await readFile(path, "utf8");
      return { contents: `const exports = {}, module = { exports };${script}\nexport default module.exports;` };
    });
  },
};

const NOTICES =
  "/*! svc-chat, Apache-2.0; lit-html (c) Google LLC, BSD-3-Clause; marked (c) MarkedJS, Christopher Jeffrey, MIT; DOMPurify (c) Cure53, Apache-2.0 or MPL-2.0 */\n";

/** `import css from "./x.css?inline"` is the style sheet's text, without its spaces. */
const inlineCss = {
  name: "inline-css",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\.css\?inline$/ }, ({ path, resolveDir }) => ({
      path: new URL(path.replace("?inline", ""), `file://${resolveDir}/`).pathname,
      namespace: "inline-css",
    }));
    onLoad({ filter: /.*/, namespace: "inline-css" }, async ({ path }) => {
      const { code } = await transform(await readFile(path, "utf8"), { loader: "css", minify: true });
      return { contents: code.trim(), loader: "text" };
    });
  },
};

await rm("dist", { recursive: true, force: true });
await build({ entryPoints: ["src/host.css"], outfile: "dist/swc.css", bundle: true, minify: true });
const { outputFiles } = await build({
  entryPoints: ["src/index.ts"],
  format: "iife",
  globalName: "swc",
  bundle: true,
  minify: true,
  target: "es2022",
  conditions: ["browser"],
  legalComments: "none",
  alias: { svc: SDK },
  plugins: [inlineCss, purify],
  write: false,
});
// What is minified has line breaks in templates alone, where a space is as good.
const script = outputFiles.map(({ text }) => text.replace(/\n\s+/g, " ")).join("");
const whole = `${NOTICES}${script}`;
const bytes = gzipSync(whole, { level: 9 }).length;
if (bytes > LIMIT_BYTES) throw new Error(`swc.iife.js is ${bytes} bytes gzipped; ${LIMIT_BYTES} are allowed`);
console.log(`swc.iife.js: ${bytes} bytes gzipped`);
await writeFile("dist/swc.iife.js", whole);
