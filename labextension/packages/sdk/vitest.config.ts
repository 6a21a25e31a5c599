import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/*.test.ts"],
    environment: "node",
    globalSetup: ["test/scripted-service.ts"],
    testTimeout: 20_000,
    maxWorkers: 3, // what waits for silence to be noticed leaves the machine to the others
  },
});
