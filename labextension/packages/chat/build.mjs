// The element as one script that a plain <script> loads, and the style sheet of its host.
// It runs where `npm ci --omit=dev` was: esbuild alone builds what the Python package carries.
import { build } from "esbuild";

const shared = { bundle: true, minify: true, target: "es2022", legalComments: "none" };
await build({ ...shared, entryPoints: ["src/index.ts"], outfile: "dist/swc.iife.js", format: "iife" });
await build({ ...shared, entryPoints: ["src/swc.css"], outfile: "dist/swc.css" });
