/** Local tools of another client of the session: every client can allow or deny their calls. */
import { beforeAll, describe, expect, inject, test } from "vitest";
import { WebSocket } from "ws";

import { type InteractiveSession, type Message, MessageTypeEnum, Svc } from "../src/index.js";
import { follow } from "./streaming.js";

const { baseUrl, apiKey } = inject("service");
let svc: Svc;

beforeAll(async () => {
  svc = await Svc.create(apiKey, baseUrl);
});

/** Ask a question as a client with local tools, which this SDK does not support. */
function askWithTool(session: InteractiveSession, content: string): WebSocket {
  const address = `${baseUrl.replace("http", "ws")}/stream?session_id=${session.sessionId}`;
  const socket = new WebSocket(address, { headers: { Authorization: `Bearer ${apiKey}` } });
  socket.on("open", () => {
    socket.send(JSON.stringify({ message_type: "query", content, local_tools: [{ name: "lookup" }] }));
  });
  return socket;
}

describe("a local tool of another client", () => {
  test("can be allowed or denied by any client of the session", async () => {
    const session = await svc.createSession();
    const { streamer, until, results, ended } = await follow(session);
    const socket = askWithTool(session, "call lookup");

    streamer.confirm(await until(({ message_type: type }) => type === MessageTypeEnum.CONFIRMATION_REQUEST), false);
    await ended(1);
    expect(results.at(-1)?.content).toContain("the user denied the call");

    socket.send(JSON.stringify({ message_type: "query", content: "call lookup", local_tools: [{ name: "lookup" }] }));
    const isSecond = ({ message_type: type, seq }: Message) => type === MessageTypeEnum.CONFIRMATION_REQUEST && seq > 5;
    streamer.confirm(await until(isSecond), true);
    const call = await until(({ message_type: type }) => type === MessageTypeEnum.LOCAL_TOOL_CALL);
    const answer = { message_type: "local_tool_result", parent_id: call.id, content: '{"ok":true,"value":7}' };
    socket.send(JSON.stringify(answer));
    await ended(2);
    expect(results.at(-1)?.content).toBe("7");
    socket.close();
    streamer.close();
  });
});
