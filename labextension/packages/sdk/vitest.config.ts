import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/*.test.ts"],
    environment: "node",
    globalSetup: ["test/scripted-service.ts"],
    testTimeout: 20_000,
    maxWorkers: 3, // tests that wait for a timeout leave the CPU to the others
  },
});
