/** What differs between Node and browsers: how a websocket carries the key, and how an upload tells its progress. */
import type { Reply } from "./requests.js";

/** A file's content as it is sent. */
export type FileBody = Uint8Array<ArrayBuffer> | Blob;

/** `loaded` of `total` bytes are on their way. */
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

/** `onframe` and `onclose` are called from the opening on; `onclose` once, with 1006 where no close frame came. */
export interface SocketRequest {
  address: string;
  protocols: string[];
  headers: Record<string, string>;
  openSeconds: number;
  onframe: (frame: string) => void;
  onclose: (code: number, reason: string) => void;
  signal: AbortSignal;
}

/** An open websocket. After `close` nothing of it arrives any more. */
export interface Socket {
  send: (frame: string) => void;
  close: () => void;
}

/** The upgrade got an HTTP answer, where that can be seen. */
export class RefusedUpgrade extends Error {
  constructor(readonly reply: Reply) {
    super(`HTTP ${reply.status}`);
  }
}

export interface Platform {
  /** Whether a websocket cannot send the key, so that a ticket opens it. */
  readonly needsTicket: boolean;
  /** SVC_API_KEY, SVC_BASE_URL and SVC_WS_URL, where there is an environment. */
  environ: () => Readonly<Record<string, string | undefined>>;
  /** Rejects with the signal's reason, or with the platform's own error where the network failed. */
  upload: (request: UploadRequest) => Promise<Reply>;
  /** Rejects with RefusedUpgrade, the signal's reason, or the platform's own error. */
  openSocket: (request: SocketRequest) => Promise<Socket>;
}
