/** The interface to Node or a browser: how a websocket sends the key, and how an upload reports progress. */
import type { Reply } from "./requests.js";

/** A file's content, ready to be sent. */
export type FileBody = Uint8Array<ArrayBuffer> | Blob;

/** `loaded` of `total` bytes have been sent. */
export interface UploadProgress {
  loaded: number;
  total: number;
}

export interface UploadRequest {
  address: string;
  headers: Record<string, string>;
  body: FileBody;
  onprogress: (progress: UploadProgress) => void;
  signal: AbortSignal;
}

/** `onframe` and `onclose` are called once the socket is open; `onclose` once, with 1006 if no close frame came. */
export interface SocketRequest {
  address: string;
  protocols: string[];
  headers: Record<string, string>;
  openSeconds: number;
  onframe: (frame: string) => void;
  onclose: (code: number, reason: string) => void;
  signal: AbortSignal;
}

/** An open websocket. After `close` no callback is called. */
export interface Socket {
  send: (frame: string) => void;
  close: () => void;
}

/** The service answered the upgrade request with an HTTP error. Browsers do not show these. */
export class UpgradeRefusedError extends Error {
  constructor(readonly reply: Reply) {
    super(`HTTP ${reply.status}`);
  }
}

export interface Platform {
  /** Whether a websocket needs a ticket, because it cannot send the key in a header. */
  readonly needsTicket: boolean;
  /** The environment variables; empty in browsers. */
  environ: () => Readonly<Record<string, string | undefined>>;
  /** Rejects with the signal's reason, or with the platform's own error if the network failed. */
  upload: (request: UploadRequest) => Promise<Reply>;
  /** Rejects with UpgradeRefusedError, the signal's reason, or the platform's own error. */
  openSocket: (request: SocketRequest) => Promise<Socket>;
}
