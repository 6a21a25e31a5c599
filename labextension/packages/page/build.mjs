// Builds the page's script, as one file for a plain <script>, and its style sheet.
import { build } from "esbuild";
import { writeFile } from "node:fs/promises";
import { packagesIn } from "../../bundled.mjs";

const alias = { "@svc-jupyter/sdk": new URL("../sdk/src/index.ts", import.meta.url).pathname };
const shared = {
  alias,
  conditions: ["browser", "svc-source"],
  bundle: true,
  minify: true,
  target: "es2022",
  legalComments: "none",
  metafile: true,
};
const script = await build({ ...shared, entryPoints: ["src/page.ts"], outfile: "dist/page.js", format: "iife" });
await build({ ...shared, entryPoints: ["src/page.css"], outfile: "dist/page.css" });
await writeFile("dist/bundled.json", JSON.stringify({ "page.js": packagesIn(script.metafile) }));
