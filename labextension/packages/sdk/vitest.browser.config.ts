import { createServer } from "node:net";
import process from "node:process";

import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";

import { FaultProxy } from "./test/fault-proxy.js";

/** The page's origin must be known before the service starts, because the service must allow it. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

const origin = (process.env["SVC_TEST_ORIGIN"] ??= `http://127.0.0.1:${await freePort()}`); // this file is loaded twice
const port = Number(new URL(origin).port);
const proxies: FaultProxy[] = [];
const quiet = "--no-first-run --disable-background-networking --disable-component-update --disable-sync";

export default defineConfig({
  test: {
    include: ["test/browser/*.test.ts"],
    globalSetup: ["test/scripted-service.ts"],
    testTimeout: 20_000,
    browser: {
      enabled: true,
      headless: true,
      screenshotFailures: false,
      api: { host: "127.0.0.1", port, strictPort: true },
      provider: playwright({
        launchOptions: {
          executablePath: process.env["SVC_CHROMIUM"] ?? "/usr/bin/chromium",
          args: ["--no-sandbox", "--disable-gpu", "--disable-quic", ...quiet.split(" ")],
        },
      }),
      commands: {
        startProxy: async (_, target: string): Promise<string> => {
          const proxy = await FaultProxy.start(target);
          proxies.push(proxy);
          return proxy.baseUrl;
        },
        cutAll: (): void => {
          for (const proxy of proxies) proxy.cutAll();
        },
        closeProxies: (): void => {
          for (const proxy of proxies.splice(0)) proxy.close();
        },
        setSilent: (_, isSilent: boolean): void => {
          for (const proxy of proxies) proxy.isSilent = isSilent;
        },
      },
      instances: [{ browser: "chromium" }],
    },
  },
});
