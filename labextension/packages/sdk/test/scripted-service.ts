/** One service shared by the tests that leave it intact: `inject("service")` has its address and key. */
import process from "node:process";

import type { TestProject } from "vitest/node";

import { type Address, LocalService } from "./local-service.js";

declare module "vitest" {
  interface ProvidedContext {
    service: Address;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const origin = process.env["SVC_TEST_ORIGIN"];
  const service = await LocalService.start(...(origin ? ["--allowed-origins", origin] : []));
  project.provide("service", { baseUrl: service.baseUrl, apiKey: service.apiKey });
  return () => service.remove();
}
