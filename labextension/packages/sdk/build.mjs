// Builds the published files: for browsers, for Node as a module and for `require`, each with types.
import { execFileSync } from "node:child_process";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";

import { build } from "esbuild";

process.chdir(import.meta.dirname);
rmSync("dist", { recursive: true, force: true });
const shared = { entryPoints: ["src/index.ts"], bundle: true, sourcemap: true, target: "es2022", external: ["ws"] };
await Promise.all([
  build({ ...shared, platform: "browser", format: "esm", outfile: "dist/browser.js" }),
  build({ ...shared, platform: "node", format: "esm", outfile: "dist/node.js" }),
  build({ ...shared, platform: "node", format: "cjs", outfile: "dist/cjs/node.js" }),
]);
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
execFileSync(process.execPath, [tsc, "-p", "tsconfig.build.json"], { stdio: "inherit" });
cpSync("dist/types", "dist/cjs/types", { recursive: true });
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
