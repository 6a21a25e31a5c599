/** The published package: it loads as a module, by `require` and in browsers, and its types work. README's example runs. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";

import { beforeAll, expect, inject, test } from "vitest";

const run = promisify(execFile);
const PACKAGE = path.resolve(import.meta.dirname, "..");
const { baseUrl, apiKey } = inject("service");
const env = { ...process.env, SVC_API_KEY: apiKey, SVC_BASE_URL: baseUrl };

async function node(...options: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, options, { cwd: PACKAGE, env });
  return stdout;
}

beforeAll(async () => {
  await node("build.mjs");
}, 60_000);

test("README's example runs and exits", async () => {
  const readme = readFileSync(path.join(PACKAGE, "README.md"), "utf8");
  const [, example = ""] = /```js\n([\s\S]*?)```/.exec(readme) ?? [];

  expect(await node("--input-type=module", "-e", example)).toMatch(/What happened in this log\? \(after 0\)/);
});

test("it can be loaded with require", async () => {
  const script = 'const { Svc } = require("@svc-jupyter/sdk"); Svc.create().then((svc) => console.log(svc.baseUrl));';

  expect(await node("-e", script)).toBe(`${baseUrl}\n`);
});

test("the browser build imports nothing", () => {
  const bundle = readFileSync(path.join(PACKAGE, "dist", "browser.js"), "utf8");

  expect(bundle).not.toMatch(/^\s*import\b|\brequire\(|\bprocess\.|\bdocument\.|\bwindow\./m);
});

test("its types work in a strict module and a CommonJS file", async () => {
  const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");

  expect(await node(tsc, "-p", "test/consumers")).toBe("");
}, 60_000);
