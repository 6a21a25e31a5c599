import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { alias: { svc: new URL("../sdk/src/index.ts", import.meta.url).pathname }, conditions: ["browser"] },
  test: { environment: "jsdom", include: ["test/**/*.test.ts"] },
});
