// How a script with the element in it is bundled, here and by whoever carries the element elsewhere.
import { transform } from "esbuild";
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { minify } from "terser";

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

const MARKED_ESM = /marked\.esm\.js$/;
const MARKED_DEFAULT = /var [\w$]+=new [\w$]+;function [\w$]+\([\w$]+,[\w$]+\)\{return [\w$]+\.parse\(/;

/** marked without the ready-made instance at its end, which nobody here asks for: 3 % of the script. */
const partsOfMarked = {
  name: "parts-of-marked",
  setup({ onLoad }) {
    onLoad({ filter: MARKED_ESM }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const end = source.search(MARKED_DEFAULT);
      const parts = source.match(/[\w$]+ as (?:Lexer|Parser|Renderer|Tokenizer)\b/g) ?? [];
      if (end < 0 || parts.length !== 4) throw new Error(`${path} ends otherwise than it did: look at this plugin`);
      return { contents: `${source.slice(0, end)}export{${parts.join()}};` };
    });
  },
};

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

/** What esbuild wrote is 3 % smaller, gzipped, after a second minifier: it puts single uses in place, over two passes. */
const terser = {
  name: "terser",
  setup({ onEnd }) {
    onEnd(async ({ outputFiles = [] }) => {
      for (const file of outputFiles) {
        const { code } = await minify(file.text, { ecma: 2020, compress: { passes: 2 }, format: { comments: false } });
        file.contents = Buffer.from(code); // `text` is read from it
      }
    });
  },
};

/** esbuild's options; what comes out is in memory, not written. */
export const bundling = {
  bundle: true,
  minify: true,
  target: "es2022",
  conditions: ["browser"],
  legalComments: "none",
  alias: { svc: SDK },
  plugins: [inlineCss, purify, partsOfMarked, terser],
  write: false,
};

/** What is minified has line breaks in templates alone, where a space is as good. */
export function withoutBreaks(script) {
  return script.replace(/\n\s+/g, " ");
}
