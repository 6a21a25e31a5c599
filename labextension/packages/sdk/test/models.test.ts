/** The model that a session requests: by its ID, or as an object if toolsets of it are disabled. */
import { describe, expect, test } from "vitest";

import { type ModelInfoInput, requestedModel } from "../src/messages.js";

const OFF = { name: "auth_log", is_enabled: false };

describe("a requested model", () => {
  test.each<[string | ModelInfoInput, string | ModelInfoInput]>([
    ["stable", "stable"],
    ["svc-experimental", "svc-experimental"],
    [{}, "svc-1.1"],
    [{ version: "1.2", use_experimental: true }, "svc-1.2-experimental"],
    [{ model_string: "svc-1.1", toolsets: [] }, "svc-1.1"],
    [{ model_string: "svc-1.1", toolsets: [{ name: "events", is_enabled: true }, { name: "pcap" }] }, "svc-1.1"],
    [
      { model_string: "svc-1.1", toolsets: [{ name: "events", is_enabled: true }, OFF] },
      { model_string: "svc-1.1", toolsets: [OFF] },
    ],
  ])("%j is asked for as %j", (model, asked) => {
    expect(requestedModel(model)).toEqual(asked);
  });
});
