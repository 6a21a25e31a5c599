// Builds the script and style sheet that every service serves, the module of the notebook's widget, and the npm package: a
// module and one for `require`, each with types and without dependencies.
import { build } from "esbuild";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import process from "node:process";
import { licenseTexts, packagesIn } from "../../bundled.mjs";
import { declare, license } from "../../published.mjs";
import { asGlobal, bundling, withoutBreaks } from "./bundling.mjs";

process.chdir(import.meta.dirname);

const LIMIT_BYTES = 64_500; // gzipped; the peers' scripts are 111,000 to 141,000
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

/** Modules of ours and lit-html's need a document when they are loaded. A server that renders pages imports the package, but never the element. */
const NO_DOCUMENT = "var document=globalThis.document??{createTreeWalker:()=>({}),createElement:()=>({})};";
const importable = (files) => `${NOTICES}${NO_DOCUMENT}${files.map(({ text }) => withoutBreaks(text)).join("")}`;
const common = await build({ entryPoints: ["src/index.ts"], format: "cjs", ...bundling });
await mkdir("dist/cjs");
await writeFile("dist/index.js", importable(outputFiles));
await writeFile("dist/cjs/index.js", importable(common.outputFiles));
await declare(import.meta.dirname);
await rm("dist/cjs/types", { recursive: true });
await mkdir("dist/cjs/types");
await writeFile("dist/cjs/types/index.d.ts", sharedTypes(await readFile("dist/types/index.d.ts", "utf8")));
await license(import.meta.dirname);

const ofTheElement = packagesIn(metafile);
const contents = { "swc.iife.js": ofTheElement, "panel.js": packagesIn(widget.metafile), "svc-chat.tgz": ofTheElement };
await writeFile("dist/bundled.json", JSON.stringify(contents));
await writeFile("dist/THIRD_PARTY_LICENSES.txt", await licenseTexts(contents));

/** Types for `require` that are those of the module: a program that uses both would declare the element twice. */
function sharedTypes(index) {
  const named = (pattern) => [...index.matchAll(pattern)].flatMap(([, names]) => names.match(/\w+/g));
  const values = named(/^export \{([^}]*)\}/gm);
  const types = named(/^export type \{([^}]*)\}/gm);
  return [
    `import type * as module from "../../types/index.js" with { "resolution-mode": "import" };`,
    ...values.map((name) => `export declare const ${name}: typeof module.${name};`),
    ...[...types, "SvcChat"].map((name) => `export type ${name} = module.${name};`),
    "",
  ].join("\n");
}
