/** Node: the websocket sends the key in a header and is kept alive by pings; uploads are streamed. */
import type { IncomingMessage } from "node:http";
import process from "node:process";

import { WebSocket } from "ws";

import type { FileBody, Platform, Socket, SocketRequest, UploadRequest } from "./platform.js";
import { UpgradeRefusedError } from "./platform.js";
import { parseRetryAfter, type Reply } from "./requests.js";

/** Content of 1,000,000 bytes can grow sixfold when JSON escapes it. */
const MAX_FRAME_BYTES = 8 * 1_048_576;
/** A half-open connection is detected within two intervals. */
const PING_SECONDS = 10;
/** Time for the peer to answer a close, before the connection is dropped. */
const CLOSE_SECONDS = 0.5;
const UPLOAD_CHUNK_BYTES = 262_144;

export const PLATFORM: Platform = { needsTicket: false, environ: () => process.env, upload, openSocket };

async function upload(request: UploadRequest): Promise<Reply> {
  const options: RequestInit & { duplex: "half" } = {
    method: "POST",
    headers: request.headers,
    body: streamed(request.body, request.onprogress),
    duplex: "half", // fetch requires it for a streamed body
    redirect: "manual",
    signal: request.signal,
  };
  const response = await fetch(request.address, options);
  const retryAfter = parseRetryAfter(response.headers.get("Retry-After"));
  return { status: response.status, body: await response.text(), retryAfter };
}

/** The body in chunks; a chunk counts as sent when the connection asks for the next one. */
function streamed(body: FileBody, onprogress: UploadRequest["onprogress"]): ReadableStream<Uint8Array> {
  const blob = body instanceof Blob ? body : new Blob([body]);
  const total = blob.size;
  let loaded = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller): Promise<void> {
      const end = Math.min(loaded + UPLOAD_CHUNK_BYTES, total);
      if (end > loaded) controller.enqueue(new Uint8Array(await blob.slice(loaded, end).arrayBuffer()));
      loaded = end;
      onprogress({ loaded, total });
      if (loaded === total) controller.close();
    },
  });
}

function openSocket(request: SocketRequest): Promise<Socket> {
  const { signal } = request;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = new WebSocket(request.address, request.protocols, {
      headers: request.headers,
      handshakeTimeout: request.openSeconds * 1000,
      maxPayload: MAX_FRAME_BYTES,
      perMessageDeflate: false, // docs/wire.md, "Connecting"
    });
    const giveUp = (): void => {
      socket.terminate();
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    socket.once("open", () => {
      signal.removeEventListener("abort", giveUp);
      resolve(attachHandlers(socket, request));
    });
    socket.once("unexpected-response", (_, response: IncomingMessage) => {
      void readRefusal(response).then((reply) => {
        reject(new UpgradeRefusedError(reply));
        socket.terminate();
      }, reject);
    });
    socket.on("error", (error) => {
      signal.removeEventListener("abort", giveUp);
      reject(error); // no effect once open: then the close event that follows counts
    });
  });
}

function attachHandlers(socket: WebSocket, request: SocketRequest): Socket {
  let isClosed = false;
  let isAlive = true;
  const pinging = setInterval(() => {
    if (!isAlive) {
      socket.terminate();
      return;
    }
    isAlive = false;
    socket.ping();
  }, PING_SECONDS * 1000);
  socket.on("pong", () => {
    isAlive = true;
  });
  socket.on("message", (data: Buffer) => {
    isAlive = true;
    if (!isClosed) request.onframe(data.toString("utf8"));
  });
  socket.on("close", (code, reason) => {
    clearInterval(pinging);
    if (!isClosed) request.onclose(code, reason.toString("utf8"));
  });
  return {
    send: (frame) => {
      socket.send(frame);
    },
    close: () => {
      isClosed = true;
      clearInterval(pinging);
      socket.close(1000);
      const dropping = setTimeout(() => {
        socket.terminate();
      }, CLOSE_SECONDS * 1000);
      socket.once("close", () => {
        clearTimeout(dropping);
      });
    },
  };
}

async function readRefusal(response: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const retryAfter = parseRetryAfter(response.headers["retry-after"]);
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8"), retryAfter };
}
