import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    alias: { "@svc-jupyter/sdk": new URL("../sdk/src/index.ts", import.meta.url).pathname },
    conditions: ["browser", "svc-source"],
  },
  test: { include: ["test/**/*.test.ts"], environment: "jsdom" },
});
