// Runs the tests in the browser that SVC_CHROMIUM names, or Debian's Chromium.
import { existsSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";

const CHROMIUM = process.env["SVC_CHROMIUM"] ?? "/usr/bin/chromium";
if (!existsSync(CHROMIUM))
  throw new Error(`${CHROMIUM} is missing: set SVC_CHROMIUM to the path of Chromium, Chrome or Edge`);

/** The gzipped size of the last build of the script; 0 if there is none. */
function bundleBytes(): number {
  const path = new URL("dist/swc.iife.js", import.meta.url);
  return existsSync(path) ? gzipSync(readFileSync(path), { level: 9 }).length : 0;
}

const args = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export default defineConfig({
  resolve: {
    alias: { "@svc-jupyter/sdk": new URL("../sdk/src/index.ts", import.meta.url).pathname },
    conditions: ["browser", "svc-source"],
  },
  optimizeDeps: { include: ["axe-core", "dompurify", "lit/html.js", "marked"] },
  test: {
    // benchmarks run separately: other work on the machine would make them fail
    include: [process.env["SVC_BENCH"] ? "browser/**/*.bench.ts" : "browser/**/*.test.ts"],
    provide: { isLong: process.env["SVC_LONG"] !== undefined, bundleBytes: bundleBytes() },
    browser: {
      enabled: true,
      headless: true,
      screenshotFailures: false,
      provider: playwright({ launchOptions: { executablePath: CHROMIUM, args } }),
      instances: [{ browser: "chromium", viewport: { width: 1400, height: 900 } }],
    },
  },
});
