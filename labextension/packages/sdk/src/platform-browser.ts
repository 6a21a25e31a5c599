/** Browsers: a ticket opens the websocket, and XMLHttpRequest reports the progress of uploads. */
import type { Platform, Socket, SocketRequest, UploadRequest } from "./platform.js";
import { parseRetryAfter, type Reply } from "./requests.js";

export const PLATFORM: Platform = { needsTicket: true, environ: () => ({}), upload, openSocket };

function upload(request: UploadRequest): Promise<Reply> {
  const { signal } = request;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const xhr = new XMLHttpRequest();
    const abort = (): void => {
      xhr.abort();
    };
    signal.addEventListener("abort", abort, { once: true });
    xhr.open("POST", request.address);
    for (const [name, value] of Object.entries(request.headers)) xhr.setRequestHeader(name, value);
    xhr.upload.onprogress = ({ loaded, total }): void => {
      request.onprogress({ loaded, total });
    };
    xhr.onload = (): void => {
      const [, seconds] = /^retry-after:(.*)$/im.exec(xhr.getAllResponseHeaders()) ?? []; // `getResponseHeader` logs an error if CORS hides it
      const retryAfter = parseRetryAfter(seconds);
      resolve({ status: xhr.status, body: xhr.responseText, retryAfter });
    };
    xhr.onerror = (): void => {
      reject(new Error("the network failed"));
    };
    xhr.onabort = (): void => {
      reject(signal.reason as Error);
    };
    xhr.onloadend = (): void => {
      signal.removeEventListener("abort", abort);
    };
    xhr.send(request.body);
  });
}

function openSocket(request: SocketRequest): Promise<Socket> {
  const { signal } = request;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = new WebSocket(request.address, request.protocols);
    let isClosed = false;
    const close = (): void => {
      isClosed = true;
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
      socket.close();
    };
    const giveUp = (): void => {
      close();
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      close();
      reject(new Error(`not open after ${request.openSeconds} s`));
    }, request.openSeconds * 1000);
    signal.addEventListener("abort", giveUp, { once: true });
    let isOpen = false;
    socket.onopen = (): void => {
      isOpen = true;
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
      resolve({
        send: (frame) => {
          socket.send(frame);
        },
        close,
      });
    };
    socket.onmessage = (event: MessageEvent<unknown>): void => {
      if (!isClosed) request.onframe(String(event.data));
    };
    socket.onclose = ({ code, reason }): void => {
      if (isClosed) return;
      close();
      if (isOpen) request.onclose(code, reason);
      else reject(new Error("the browser does not say why"));
    };
  });
}
