import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/*.test.ts"],
    environment: "node",
    globalSetup: ["test/scripted_service.ts"],
    testTimeout: 20_000,
  },
});
