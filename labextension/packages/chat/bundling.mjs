// How to bundle a script that contains the element; also used by packages/lab.
import { transform } from "esbuild";
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { minify } from "terser";

const SDK = new URL("../sdk/src/index.ts", import.meta.url).pathname;

/** DOMPurify's own minified file: 3 % smaller than minifying its source here. */
const DOMPURIFY = createRequire(import.meta.url)
  .resolve("dompurify")
  .replace(/[^/]+$/, "purify.min.js");

/** Loads it as a module, without a bundler's CommonJS wrapper. */
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

const MARKED_ESM = /marked\.esm\.js$/;
const MARKED_DEFAULT = /var [\w$]+=new [\w$]+;function [\w$]+\([\w$]+,[\w$]+\)\{return [\w$]+\.parse\(/;

/** Removes the default instance at the end of marked, which is not used here: 3 % of the script. */
const trimMarked = {
  name: "trim-marked",
  setup({ onLoad }) {
    onLoad({ filter: MARKED_ESM }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const end = source.search(MARKED_DEFAULT);
      const parts = source.match(/[\w$]+ as (?:Lexer|Parser|Renderer|Tokenizer)\b/g) ?? [];
      if (end < 0 || parts.length !== 4) throw new Error(`${path} does not end as expected: update this plugin`);
      return { contents: `${source.slice(0, end)}export{${parts.join()}};` };
    });
  },
};

/** `import css from "./x.css?inline"` gives the minified text of the style sheet. */
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

/** A second minifier makes the gzipped script 3 % smaller: it inlines single-use variables, in two passes. */
const terser = {
  name: "terser",
  setup({ onEnd }) {
    onEnd(async ({ outputFiles = [] }) => {
      for (const file of outputFiles) {
        const { code } = await minify(file.text, { ecma: 2020, compress: { passes: 2 }, format: { comments: false } });
        file.contents = Buffer.from(code); // esbuild derives `text` from it
      }
    });
  },
};

/** esbuild's options; the output stays in memory. */
export const bundling = {
  bundle: true,
  minify: true,
  target: "es2022",
  conditions: ["browser"],
  legalComments: "none",
  alias: { svc: SDK },
  plugins: [inlineCss, purify, trimMarked, terser],
  write: false,
  metafile: true,
};

/** Replaces line breaks, which minified code has only in templates, where a space is equivalent. */
export function withoutBreaks(script) {
  return script.replace(/\n\s+/g, " ");
}
