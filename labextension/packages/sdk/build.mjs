// Builds the published files: for browsers, for Node as a module and for `require`, each with types.
import { rmSync } from "node:fs";
import process from "node:process";

import { build } from "esbuild";

import { declare, license } from "../../published.mjs";

process.chdir(import.meta.dirname);
rmSync("dist", { recursive: true, force: true });
const shared = {
  entryPoints: ["src/index.ts"],
  bundle: true,
  sourcemap: true,
  sourcesContent: false,
  target: "es2022",
  external: ["ws"],
};
await Promise.all([
  build({ ...shared, platform: "browser", format: "esm", outfile: "dist/browser.js" }),
  build({ ...shared, platform: "node", format: "esm", outfile: "dist/node.js" }),
  build({ ...shared, platform: "node", format: "cjs", outfile: "dist/cjs/node.js" }),
]);
await declare(import.meta.dirname);
await license(import.meta.dirname);
