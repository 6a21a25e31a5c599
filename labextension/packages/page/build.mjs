// Builds the page's script, as one file for a plain <script>, and its style sheet.
import { build } from "esbuild";

const shared = { bundle: true, minify: true, target: "es2022", legalComments: "none" };
await build({ ...shared, entryPoints: ["src/page.ts"], outfile: "dist/page.js", format: "iife" });
await build({ ...shared, entryPoints: ["src/page.css"], outfile: "dist/page.css" });
