/** A page whose connections are lost or silent: no message is lost or repeated. */
import { afterAll, expect, inject, test } from "vitest";
import { commands } from "vitest/browser";

import { Svc } from "../../src/index.js";
import { follow, said } from "../streaming.js";

declare module "vitest/browser" {
  interface BrowserCommands {
    startProxy: (target: string) => Promise<string>;
    cutAll: () => Promise<void>;
    closeProxies: () => Promise<void>;
    setSilent: (isSilent: boolean) => Promise<void>;
  }
}

const { baseUrl, apiKey } = inject("service");
const svc = await Svc.create(apiKey, await commands.startProxy(baseUrl));

afterAll(() => commands.closeProxies());

test("a turn whose connection is cut continues", async () => {
  const session = await svc.createSession();
  const { streamer, messages, states, until, ended } = await follow(session);
  await streamer.send("count 20 30");

  for (const word of ["5", "12"]) {
    await until((message) => message.content === word);
    await commands.cutAll();
  }
  await ended(1);

  expect(said(messages)).toEqual([...Array.from({ length: 20 }, (_, i) => String(i + 1)), "count 20 30 (after 0)"]);
  expect(states.map((state) => state.kind).join(" ")).toBe("connected reconnecting connected reconnecting connected");
  expect(messages).toEqual(await session.history());
  streamer.close();
});

test("a question on a silently lost connection is sent again on a new one", async () => {
  const session = await svc.createSession();
  const { streamer, messages, ended } = await follow(session);
  await commands.setSilent(true);

  const sending = streamer.send("echo there?");
  setTimeout(() => void commands.setSilent(false), 4_000);
  await sending;
  await ended(1);

  expect(said(messages)).toEqual(["echo there? (after 0)"]);
  expect(messages).toEqual(await session.history());
  streamer.close();
});
