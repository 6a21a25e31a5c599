/** A session of one user: ask questions over a streamer, attach files, read the history. */
import { decodeBase64, hex, isTextFormat, utf8, wellFormed } from "./content.js";
import { InvalidRequestError, ProtocolError, SessionFileNotFoundError } from "./errors.js";
import {
  endsTurn,
  type Message,
  MessageType,
  type ModelInfo,
  type Session,
  type SessionFile,
  type State,
  type Usage,
} from "./messages.js";
import type { FileBody, UploadProgress } from "./platform.js";
import * as requests from "./requests.js";
import { runningTurn, withMessage, withoutHistory, withoutMessages } from "./snapshot.js";
import { type StreamContext, Streamer, type StreamerOptions } from "./streamer.js";
import type { Transport, AbortOptions } from "./transport.js";

export interface AttachOptions extends AbortOptions {
  /** Called with the file as the service stored it, which is also one of the session's `files`. */
  onattached?: ((file: SessionFile) => void) | undefined;
  /** Called while the file is sent, at least once. */
  onprogress?: ((progress: UploadProgress) => void) | undefined;
}

/** What `update` changes; omitted fields stay. `ttl` counts from now. */
export interface SessionChanges {
  name?: string;
  description?: string;
  ttl?: number;
}

/** A file's content: text, or bytes. */
export type FileContent = string | ArrayBuffer | Uint8Array | Blob;

/**
 * A conversation: each question has the earlier ones as context. Made by `svc.createSession` and `svc.resumeSession`.
 *
 * The properties send no request: they hold the last known state, which replies and the messages of this object's
 * streamers update. Call `refresh` to see what other clients changed.
 */
export class InteractiveSession {
  readonly #transport: Transport;
  readonly #stream: StreamContext;
  #streamers: Streamer[] = [];
  #info: Session;
  readonly #seen: Set<string>; // the ids of the messages known
  #after: number; // the last seq known
  #runningTurn: string | null;

  constructor(transport: Transport, info: Session) {
    this.#transport = transport;
    this.#info = withoutMessages(info);
    this.#after = info.num_messages;
    this.#runningTurn = runningTurn(info.messages);
    this.#seen = new Set(info.messages.map(({ id }) => id));
    const onlost = (): void => {
      this.#after = 0;
      this.#info = withoutHistory(this.#info);
    };
    this.#stream = { sessionId: info.id, transport, ownTurn: null, seen: this.#seen, onlost };
  }

  /** The ID to pass to `resumeSession`. */
  get sessionId(): string {
    return this.#info.id;
  }

  /** All properties in one object. Its `messages` are empty: call `history`. */
  get info(): Session {
    return this.#info;
  }

  /** The name; the service makes one up if none was given. */
  get name(): string {
    return this.#info.name;
  }

  /** The description; may be empty. */
  get description(): string {
    return this.#info.description;
  }

  /** The language of the answers, as a BCP 47 tag. */
  get language(): string {
    return this.#info.language;
  }

  /** The model that answers. */
  get model(): ModelInfo {
    return this.#info.model;
  }

  /** The lifetime in seconds, from creation or the last extension. */
  get ttl(): number {
    return this.#info.ttl;
  }

  /** When it was created, in seconds since the epoch. */
  get createTime(): number {
    return this.#info.create_time;
  }

  /** When it last changed or got a message, in seconds since the epoch. */
  get updateTime(): number {
    return this.#info.update_time;
  }

  /** When it expires, in seconds since the epoch. */
  get expireTime(): number {
    return this.#info.expire_time;
  }

  /** Seconds until it expires by this machine's clock, 0 afterwards; `update({ ttl })` extends it. */
  get timeLeft(): number {
    return Math.max(0, this.#info.expire_time - Date.now() / 1000);
  }

  /** The number of questions asked, by all clients. */
  get turns(): number {
    return this.#info.turns;
  }

  /** The number of messages, which is the `seq` of the last one. */
  get numMessages(): number {
    return this.#info.num_messages;
  }

  /** The tokens used by all turns. */
  get usage(): Usage {
    return this.#info.usage;
  }

  /** `start`, `running_agent` while a turn runs, or `agent_done` after one. */
  get state(): State {
    return this.#info.state;
  }

  /** The attached files; their positions are the indexes that `detachFile` takes. */
  get files(): readonly SessionFile[] {
    return this.#info.files;
  }

  /** Whether the service keeps it on disk; the key may override what `createSession` asked for. */
  get logSession(): boolean {
    return this.#info.can_log;
  }

  /**
   * Open the session's stream; resolves when the service has opened it.
   *
   * `onmessage` gets every message of the session that this object has not seen, in order, once each: questions (of other
   * clients, too), progress, the RESULT, an ERROR, and the INFO that ends the turn. `onresult` gets the RESULT again.
   * A lost connection is reopened automatically; no message is lost or repeated.
   */
  async streamer(
    onmessage: (message: Message) => void,
    onresult?: ((message: Message) => void) | null,
    options: StreamerOptions = {},
  ): Promise<Streamer> {
    const deliver = (message: Message, isNew: boolean): void => {
      this.#update(message);
      if (!isNew) return;
      call(onmessage, message);
      if (onresult && message.message_type === MessageType.RESULT) call(onresult, message);
    };
    const { after = this.#after, onstate } = options;
    const streamer = await Streamer.open(this.#stream, after, deliver, {
      ...options,
      onstate: (state) => {
        if (onstate) call(onstate, state);
      },
    });
    this.#after = Math.max(this.#after, after);
    this.#streamers = [...this.#openStreamers(), streamer];
    return streamer;
  }

  /**
   * Cancel the running turn; resolves when it has ended, with false if no turn is known to run.
   *
   * Every client of the session gets the ERROR `cancelled`. Rejects with UnreachableError if the turn does not end
   * within five seconds.
   */
  async cancel(options: AbortOptions = {}): Promise<boolean> {
    const turn = this.#runningTurn ?? this.#stream.ownTurn;
    if (turn === null) return false;
    const [open] = this.#openStreamers();
    if (open !== undefined) {
      await open.cancelTurn(turn, options);
      return true;
    }
    const streamer = await this.streamer(() => undefined, null, options);
    try {
      await streamer.cancelTurn(turn, options);
    } finally {
      streamer.close();
    }
    return true;
  }

  /** Read the session from the service and update the properties. */
  async refresh(options: AbortOptions = {}): Promise<this> {
    await this.#reload(options);
    return this;
  }

  /** Every message of the session, oldest first. */
  async history(options: AbortOptions = {}): Promise<Message[]> {
    return (await this.#reload(options)).messages;
  }

  /** Change the given fields; `ttl` counts from now. Without fields, the session's lifetime starts again. */
  async update(changes: SessionChanges = {}, options: AbortOptions = {}): Promise<void> {
    const isEmpty = Object.values(changes).every((value) => value === undefined);
    const request = { ...(isEmpty ? { ttl: this.info.ttl } : changes), id: this.sessionId };
    const updated = await this.#transport.call(requests.update(request), options);
    if (updated === null) await this.#reload(options);
    else this.#info = withoutMessages(updated);
  }

  /**
   * Attach a file. Its type is detected from its content; `mimeTypeHint` helps.
   *
   * A string is text, sent as UTF-8, unless `mimeTypeHint` is a binary type (`image/png`): then it is base64. Rejects
   * with InvalidRequestError if it is not. Resolves when the service has the file: it is then one of `files`.
   */
  async attachFile(
    fileName: string,
    fileContent: FileContent,
    mimeTypeHint?: string,
    options: AttachOptions = {},
  ): Promise<void> {
    const call = requests.uploadFile(this.sessionId, fileName, mimeTypeHint);
    const file = await this.#transport.upload(call, bodyOf(fileContent, mimeTypeHint), options);
    const isThere = this.#info.files.some((other) => other.name === file.name && other.sha256 === file.sha256);
    if (!isThere) this.#keepFiles([...this.#info.files, file]);
    options.onattached?.(file);
  }

  /**
   * The content of a file of the session: one that was attached, or one that the service made. `file` is one of `files`, or
   * its SHA-256, which a message that refers to a file of the service has.
   *
   * Rejects with SessionFileNotFoundError if the session has no such file.
   */
  async readFile(file: string | SessionFile, options: AbortOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    const sha256 = typeof file === "string" ? file : file.sha256;
    const bytes = await this.#transport.download(requests.readFileContent(this.sessionId, sha256), options);
    if (await isOf(sha256, bytes)) return bytes;
    throw new ProtocolError(`the file ${sha256} arrived damaged: ${bytes.length} bytes. Try again.`);
  }

  /**
   * Remove a file, by its index or as an item of `files`, which is read from the service again first.
   *
   * Rejects with SessionFileNotFoundError, whose message lists the files.
   */
  async detachFile(file: number | SessionFile, options: AbortOptions = {}): Promise<void> {
    const { files } = await this.#reload(options);
    const index =
      typeof file === "number"
        ? file
        : files.findIndex((other) => other.name === file.name && other.sha256 === file.sha256);
    if (files[index] === undefined) {
      const names = files.map((other) => other.name).join(", ") || "none";
      throw new SessionFileNotFoundError(
        `no such file: ${typeof file === "number" ? file : file.name}. The session has ${files.length}: ${names}.`,
        { param: "file_idx" },
      );
    }
    await this.#transport.call(requests.detachFile(this.sessionId, index), options);
    this.#keepFiles(files.filter((_, place) => place !== index));
  }

  /** Rate the session, or one answer by the `group` of its messages; a higher score is better. */
  async sendFeedback(score: number, comment: string, groupId = "", options: AbortOptions = {}): Promise<void> {
    await this.#transport.call(requests.sendFeedback(this.sessionId, score, comment, groupId), options);
  }

  /** Report a problem with the session, or with one answer by the `group` of its messages. */
  async sendBugReport(bug: string, groupId = "", options: AbortOptions = {}): Promise<void> {
    await this.#transport.call(requests.sendBugReport(this.sessionId, bug, groupId), options);
  }

  /** Delete the session: a running turn is cancelled, messages and files are erased. */
  async delete(options: AbortOptions = {}): Promise<void> {
    await this.#transport.call(requests.deleteSession(this.sessionId), options);
  }

  #update(message: Message): void {
    this.#seen.add(message.id);
    this.#after = Math.max(this.#after, message.seq);
    this.#info = withMessage(this.#info, message);
    if (message.message_type === MessageType.QUERY) this.#runningTurn = message.turn;
    if (endsTurn(message) && message.turn === this.#runningTurn) this.#runningTurn = null;
  }

  async #reload(options: AbortOptions): Promise<Session> {
    const session = await this.#transport.call(requests.getSession(this.sessionId), options);
    this.#info = withoutMessages(session);
    this.#runningTurn = runningTurn(session.messages);
    return session;
  }

  #openStreamers(): Streamer[] {
    return this.#streamers.filter((streamer) => streamer.state.kind !== "closed");
  }

  #keepFiles(files: SessionFile[]): void {
    this.#info = { ...this.#info, files };
  }
}

function bodyOf(content: FileContent, mimeTypeHint: string | undefined): FileBody {
  if (content instanceof Blob) return content;
  if (typeof content !== "string") return new Uint8Array(content); // a copy: the caller may change its own while it is sent
  if (!mimeTypeHint || isTextFormat(mimeTypeHint)) return utf8(wellFormed(content));
  const bytes = decodeBase64(content);
  if (bytes !== null) return bytes;
  throw new InvalidRequestError(
    `fileContent is not valid base64, which a string must be for ${mimeTypeHint}. Pass the bytes as a Uint8Array, ` +
      "or omit mimeTypeHint if it is text.",
    { param: "fileContent" },
  );
}

/** Whether the bytes have this SHA-256. A page that was not loaded over https cannot tell. */
async function isOf(sha256: string, bytes: Uint8Array<ArrayBuffer>): Promise<boolean> {
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- missing outside secure contexts
  if (crypto.subtle === undefined) return true;
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))) === sha256;
}

/** An error in a callback is reported as uncaught, and the stream continues. */
function call<T>(callback: (value: T) => void, value: T): void {
  try {
    callback(value);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
