/** Another program on the port of a service that has ended learns neither the key nor the question. */
import { createHash } from "node:crypto";
import { type AddressInfo, connect, createServer, type Server } from "node:net";

import { afterEach, expect, inject, test } from "vitest";

import { InvalidApiKeyError, Svc, UnreachableError } from "../src/index.js";
import { LocalService } from "./local-service.js";

const { baseUrl, apiKey } = inject("service");
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Records what it receives; answers with `reply`, or passes everything on to the service at `target`. */
async function impostor(
  reply: string | null,
  target = (): string => baseUrl,
): Promise<{ address: string; received: () => string }> {
  let received = "";
  const server = createServer((client) => {
    client.on("error", () => undefined);
    const { hostname, port } = new URL(target());
    const upstream = reply === null ? connect(Number(port), hostname) : null;
    upstream?.on("data", (piece) => client.write(piece));
    client.on("close", () => upstream?.destroy());
    client.on("data", (piece) => {
      received += piece.toString("latin1");
      if (upstream === null) client.write(reply ?? "");
      else upstream.write(piece);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received: () => received };
}

function http(status: string, body: string): string {
  return `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

test.each<[string, string | null, typeof UnreachableError | typeof InvalidApiKeyError]>([
  ["a page", http("200 OK", "<html>"), UnreachableError],
  ["a made-up proof", http("200 OK", '{"proof":"00","address":"127.0.0.1:1","challenge":"a.b.c.d"}'), UnreachableError],
  ["no object", http("200 OK", "null"), UnreachableError],
  ["an unknown key", http("401 Unauthorized", "{}"), InvalidApiKeyError],
  ["a redirect", http("307 Temporary Redirect\r\nLocation: http://127.0.0.2:1/", ""), UnreachableError],
  ["an unknown address", http("404 Not Found", "{}"), UnreachableError],
  ["the proof of the service at another port", null, UnreachableError],
])("the key is not sent to a program that answers with %s", async (_, reply, expected) => {
  const program = await impostor(reply);

  await expect(Svc.create(apiKey, program.address)).rejects.toThrow(expected);
  await expect(Svc.create(apiKey, program.address)).rejects.toThrow("Neither your key nor your question was sent");

  expect(program.received()).toContain("GET /proof?key=");
  expect(program.received()).not.toMatch(/authorization|\/user|\/session/i);
  expect(program.received()).not.toContain(apiKey);
  expect(program.received()).not.toContain(createHash("sha256").update(apiKey).digest("hex"));
});

test("over plain http the key is not sent as it is", async () => {
  const program = await impostor(null);
  process.env["SVC_TUNNEL_TO"] = new URL(baseUrl).host;
  try {
    const session = await (await Svc.create(apiKey, program.address)).createSession();
    const streamer = await session.streamer(() => undefined);
    await streamer.send("echo a");
    streamer.close();
  } finally {
    delete process.env["SVC_TUNNEL_TO"];
  }

  expect(program.received()).toMatch(/authorization: Svc-Sealed /i);
  expect(program.received()).not.toContain(apiKey);
});

test("a service behind a balancer proves itself for the balancer's address, and for no other", async () => {
  let target = "";
  const balancer = await impostor(null, () => target);
  const service = await LocalService.start("--front-addresses", new URL(balancer.address).host);
  try {
    target = service.baseUrl;
    const session = await (await Svc.create(service.apiKey, balancer.address)).createSession();
    const streamer = await session.streamer(() => undefined);
    await streamer.send("echo a");
    streamer.close();
    const other = await impostor(null, () => target);

    await expect(Svc.create(service.apiKey, other.address)).rejects.toThrow("its proof is wrong");
    await expect(Svc.create(service.apiKey, service.baseUrl)).resolves.toBeInstanceOf(Svc);

    expect(balancer.received()).toMatch(/authorization: Svc-Sealed /i);
    expect(balancer.received()).not.toContain(service.apiKey);
    expect(other.received()).not.toMatch(/authorization/i);
  } finally {
    await service.remove();
  }
});
