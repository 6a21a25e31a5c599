import { defineConfig } from "vitest/config";

const conditions = ["svc-source"]; // the other packages from their sources, in Node's environment and in jsdom's

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: { include: ["test/**/*.test.ts"] },
});
