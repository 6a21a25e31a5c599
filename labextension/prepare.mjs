// Before a package is packed (`npm pack`, `npm publish`) or installed from its folder: builds it, because `dist` is not in
// git. In a fresh clone the build's own tools are installed first. No script of another package runs.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";

const TOOLS = ["esbuild", "terser", "typescript"];
const root = import.meta.dirname;

/** Runs npm; its output goes to stderr, because `npm pack --json` prints its result to stdout. */
function npm(...words) {
  const cli = process.env["npm_execpath"];
  const [command, ...first] = cli ? [process.execPath, cli] : ["npm"];
  const env = { ...process.env };
  for (const name of Object.keys(env)) {
    if (/^npm_(config|lifecycle|package|command)/i.test(name)) delete env[name]; // of the command that called this
  }
  execFileSync(command, [...first, ...words], { cwd: root, env, stdio: ["ignore", 2, 2] });
}

const { npm_lifecycle_event: event, npm_command: command } = process.env;
const isBuilt = event === "prepare" && (command === "pack" || command === "publish"); // by `prepack`
const isOwnCheckout = event === "prepare" && command === "ci"; // `npm run build` builds it
if (!isBuilt && !isOwnCheckout) {
  if (!TOOLS.every((name) => existsSync(`${root}/node_modules/${name}/package.json`))) {
    npm("ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline");
  }
  execFileSync(process.execPath, ["build.mjs"], { stdio: ["ignore", 2, 2] });
}
