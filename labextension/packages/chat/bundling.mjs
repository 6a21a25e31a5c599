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

/** A helper of its compiler that nothing calls. */
const UNUSED_GENERATOR =
  /function (\w+)\(\w\)\{var \w,\w;function \w(?:(?!function \w+\(\w\)\{var )[^])*?\1\.prototype\.return=function\(\w\)\{return this\._invoke\(`return`,\w\)\};/;

/** What is allowed by default: all elements of HTML, all attributes of HTML, SVG and MathML. `markdown.ts` names what it
 * allows; with these lists empty, a sanitizer that is not configured allows nothing. */
const UNUSED_DEFAULTS =
  /(?<==\w\()\/\* @__PURE__ \*\/ `(?:a\.abbr|accept\.action|accent-height\.accumulate|accent\.accentunder)\.[^`]*`\.split\(`\.`\)(?=\))/g;

/** Loads it as a module, without a bundler's CommonJS wrapper. */
const purify = {
  name: "purify",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^dompurify$/ }, () => ({ path: DOMPURIFY, namespace: "purify" }));
    onLoad({ filter: /.*/, namespace: "purify" }, async ({ path }) => {
      const whole = await readFile(path, "utf8");
      if (whole.match(UNUSED_DEFAULTS)?.length !== 4) throw outdated(path);
      const script = replaced(whole.replace(UNUSED_DEFAULTS, "[]"), path, UNUSED_GENERATOR, "");
      return { contents: `const exports = {}, module = { exports };${script}\nexport default module.exports;` };
    });
  },
};

const MARKED_ESM = /marked\.esm\.js$/;
const MARKED_DEFAULT = /var [\w$]+=new [\w$]+;function [\w$]+\([\w$]+,[\w$]+\)\{return [\w$]+\.parse\([^]*/;
const MARKED_RULES =
  /([\w$]+)=\{normal:[\w$]+,(gfm:[\w$]+),pedantic:[\w$]+\},([\w$]+)=\{normal:[\w$]+,(gfm:[\w$]+),breaks:[\w$]+,pedantic:[\w$]+\};/;
/** Builds a rule; without an effect, so that bundlers can leave out those of other dialects. */
const MARKED_RULE = /(?<=[=:])h\((?:(?!\.getRegex\(\)[,}]).)+\.getRegex\(\)(?=[,}])/gs;
/** Short cuts that nobody calls, and what `SafeTokenizer` and `SafeRenderer` replace. */
const MARKED_UNUSED = [
  /static (?:get )?\w+\([\w,]*\)\{return(?:\{[^{}]*\}| new \w+\(\w\)\.\w+\(\w\))\}/g,
  /(?<=\})lex\(\w\)\{.*?\}(?=blockTokens\()/s,
  /(?<=\})url\(\w\)\{.*?\}(?=inlineText\()/s,
  /(?<=\})code\(\{.*?\}(?=blockquote\(\{)/s,
  /(?<=\})link\(\{href.*?\}(?=text\(\w\)\{return"tokens")/s,
];

/** The options that `markdown.ts` sets, or leaves at their defaults. */
const MARKED_OPTIONS = { pedantic: "!1", gfm: "!0", breaks: "!1", silent: "!1", extensions: "null", hooks: "null" };

/** Removes from marked what is not used here: its default instance, other dialects than GFM, extensions. */
const trimMarked = {
  name: "trim-marked",
  setup({ onLoad }) {
    onLoad({ filter: MARKED_ESM }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const parts = source.match(/[\w$]+ as (?:Lexer|Parser|Renderer|Tokenizer)\b/g) ?? [];
      if (parts.length !== 4) throw outdated(path);
      let trimmed = replaced(source, path, MARKED_DEFAULT, () => `export{${parts.join()}};`);
      trimmed = replaced(trimmed, path, MARKED_RULES, "$1={$2},$3={$4};");
      trimmed = replaced(trimmed, path, MARKED_RULE, "/* @__PURE__ */$&");
      for (const pattern of MARKED_UNUSED) trimmed = replaced(trimmed, path, pattern, "");
      for (const [option, value] of Object.entries(MARKED_OPTIONS)) {
        trimmed = replaced(trimmed, path, new RegExp(`\\bthis\\.options\\.${option}\\b`, "g"), value);
      }
      return { contents: trimmed };
    });
  },
};

/** Its templates are HTML: in an XHTML page they are parsed in an HTML document of their own. */
const LIT_DOCUMENT = /(?<=[,;])(\w)=document(?=,)/;

const litInXhtml = {
  name: "lit-in-xhtml",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]lit-html\.js$/ }, async ({ path }) => {
      const own = `/xml/.test(document.contentType)?document.implementation.createHTMLDocument(""):document`;
      return { contents: replaced(await readFile(path, "utf8"), path, LIT_DOCUMENT, (_, name) => `${name}=${own}`) };
    });
  },
};

/** What the element never calls, of the classes that it uses; bundlers keep all methods of a class. */
const UNCALLED = {
  "session.ts": ["readFile", "refresh", "history", "sendBugReport", "delete", "cancel"],
  "transport.ts": ["download"],
  "client.ts": ["getUser"],
};

/** Removes these methods from the SDK; its files are formatted, so a method ends at a brace with its own indentation. */
const trimSdk = {
  name: "trim-sdk",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]sdk[\\/]src[\\/](?:session|transport|client)\.ts$/ }, async ({ path }) => {
      let contents = (await readFile(path, "utf8")).replaceAll("\r\n", "\n");
      for (const name of UNCALLED[path.replace(/^.*[\\/]/, "")]) {
        const method = new RegExp(`^  (?:async )?${name}(?:<\\w+>)?\\((?:(?!^  \\}$)[^])*^  \\}\\n`, "m");
        contents = replaced(contents, path, method, "");
      }
      return { contents, loader: "ts" };
    });
  },
};

/** Replaces what must be there, so that an update of the library is noticed. */
function replaced(source, path, pattern, replacement) {
  if (source.search(pattern) < 0) throw outdated(path);
  return source.replace(pattern, replacement);
}

function outdated(path) {
  return new Error(`${path} is not as expected: update the plugins in bundling.mjs`);
}

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

const TERSER = { ecma: 2020, compress: { passes: 3 }, format: { comments: false } };

/** A second minifier makes the gzipped script 5 % smaller: it inlines single-use variables and removes unused calls. */
const terser = {
  name: "terser",
  setup({ onEnd, initialOptions }) {
    const options = { ...TERSER, module: initialOptions.format === "esm" };
    onEnd(async ({ outputFiles = [] }) => {
      for (const file of outputFiles) {
        const { code } = await minify(file.text, options);
        file.contents = Buffer.from(code); // esbuild derives `text` from it
      }
    });
  },
};

/** esbuild's options; the output stays in memory. */
export const bundling = {
  bundle: true,
  minifyIdentifiers: true,
  minifySyntax: true, // spaces are left to terser, with the comments that mark calls without effects
  target: "es2022",
  conditions: ["browser", "svc-source"],
  legalComments: "none",
  alias: { "@svc-jupyter/sdk": SDK },
  plugins: [inlineCss, purify, trimMarked, litInXhtml, trimSdk, terser],
  write: false,
  metafile: true,
};

/** Replaces line breaks, which minified code has only in templates, where a space is equivalent. */
export function withoutBreaks(script) {
  return script.replace(/\n\s+/g, " ");
}

/** A module as a plain script that defines a global with its exports; esbuild's own wrapper is three times as long. */
export function asGlobal(name, module) {
  const [statement, names] = /export\{([^{}]*)\};?\s*$/.exec(module) ?? [];
  if (statement === undefined) throw new Error("the module does not end with its exports");
  const values = names.split(",").map((each) => each.replace(/^(.+) as (.+)$/, "$2:$1"));
  return `"use strict";var ${name}=(()=>{${module.slice(0, -statement.length)}return{${values.join()}}})();\n`;
}
