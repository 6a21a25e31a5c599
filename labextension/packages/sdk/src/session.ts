/** A session as users hold it: ask over a streamer, attach, look back. */
import { decodeBase64, isTextFormat, wellFormed } from "./content.js";
import { InvalidRequestError, SessionFileNotFoundError } from "./errors.js";
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
import { runningTurn, withMessage, withoutMessages } from "./snapshot.js";
import { type StreamedSession, Streamer, type StreamerOptions } from "./streamer.js";
import type { Transport, Waiting } from "./transport.js";

export interface AttachOptions extends Waiting {
  /** Called as the file goes out, at least once. */
  onprogress?: ((progress: UploadProgress) => void) | undefined;
}

/** What `update` changes; what is left out stays. `ttl` counts from now. */
export interface SessionChanges {
  name?: string;
  description?: string;
  ttl?: number;
}

/** A file's content: text, or bytes. */
export type FileContent = string | ArrayBuffer | Uint8Array | Blob;

/**
 * A conversation: each question knows the ones before. Made by `svc.createSession` and `svc.resumeSession`.
 *
 * The properties never ask the service: they say what this object last heard from it. Its answers and the messages of
 * its streamers bring them up to date; what others did meanwhile shows after `refresh`.
 */
export class InteractiveSession {
  readonly #transport: Transport;
  readonly #streamed: StreamedSession;
  #streamers: Streamer[] = [];
  #info: Session;
  #after: number; // the last seq known
  #runningTurn: string | null;

  constructor(transport: Transport, info: Session) {
    this.#transport = transport;
    this.#info = withoutMessages(info);
    this.#after = info.num_messages;
    this.#runningTurn = runningTurn(info.messages);
    this.#streamed = { sessionId: info.id, transport, ownTurn: null };
  }

  /** The id by which `resumeSession` finds it again. */
  get sessionId(): string {
    return this.#info.id;
  }

  /** All that the other properties say at once. Its `messages` are empty: `history` reads them. */
  get info(): Session {
    return this.#info;
  }

  /** What it is called; the service made a name up where none was given. */
  get name(): string {
    return this.#info.name;
  }

  /** What it was said to be about; may be empty. */
  get description(): string {
    return this.#info.description;
  }

  /** The BCP 47 tag of the language that answers are wanted in. */
  get language(): string {
    return this.#info.language;
  }

  /** What answers. */
  get model(): ModelInfo {
    return this.#info.model;
  }

  /** How long it lives after it was made or extended, in seconds. */
  get ttl(): number {
    return this.#info.ttl;
  }

  /** When it was made, in seconds since the epoch. */
  get createTime(): number {
    return this.#info.create_time;
  }

  /** When it last changed or said something, in seconds since the epoch. */
  get updateTime(): number {
    return this.#info.update_time;
  }

  /** When it expires, in seconds since the epoch. */
  get expireTime(): number {
    return this.#info.expire_time;
  }

  /** Seconds until it expires by this machine's clock, 0 afterwards; `update({ ttl })` gives it more. */
  get timeLeft(): number {
    return Math.max(0, this.#info.expire_time - Date.now() / 1000);
  }

  /** How many questions were asked in it, by whomever. */
  get turns(): number {
    return this.#info.turns;
  }

  /** How many messages it has: the `seq` of the last one. */
  get numMessages(): number {
    return this.#info.num_messages;
  }

  /** The tokens of all its turns. */
  get usage(): Usage {
    return this.#info.usage;
  }

  /** What it is doing: `start`, `running_agent` while a turn runs, `agent_done` after one. */
  get state(): State {
    return this.#info.state;
  }

  /** What is attached, in the order of the indexes that `detachFile` takes. */
  get files(): readonly SessionFile[] {
    return this.#info.files;
  }

  /** Whether the service may keep it on disk; a wish (`logSession`) that the key may not allow. */
  get logSession(): boolean {
    return this.#info.can_log;
  }

  /**
   * Open the session's stream; resolves when the service has opened it.
   *
   * `onmessage` gets every message of the session that this object has not seen, in order, once each: questions (others'
   * too), what is found on the way, the RESULT, an ERROR, the INFO that closes the turn. `onresult` gets the RESULT once
   * more. A lost connection comes back by itself, and nothing is lost or doubled.
   */
  async streamer(
    onmessage: (message: Message) => void,
    onresult?: ((message: Message) => void) | null,
    options: StreamerOptions = {},
  ): Promise<Streamer> {
    const deliver = (message: Message): void => {
      this.#hear(message);
      call(onmessage, message);
      if (onresult && message.message_type === MessageType.RESULT) call(onresult, message);
    };
    const { after = this.#after, onstate } = options;
    const streamer = await Streamer.open(this.#streamed, after, deliver, {
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
   * End the running turn on the service; resolves when it has ended, with false where none is known to run.
   *
   * Whoever follows the turn gets its ERROR, `cancelled`. Rejects with UnreachableError after five seconds without an end.
   */
  async cancel(waiting: Waiting = {}): Promise<boolean> {
    const turn = this.#runningTurn ?? this.#streamed.ownTurn;
    if (turn === null) return false;
    const [open] = this.#openStreamers();
    if (open !== undefined) {
      await open.cancelTurn(turn, waiting);
      return true;
    }
    const streamer = await this.streamer(() => undefined, null, waiting);
    try {
      await streamer.cancelTurn(turn, waiting);
    } finally {
      streamer.close();
    }
    return true;
  }

  /** Ask the service how the session is now; the properties say it from then on. */
  async refresh(waiting: Waiting = {}): Promise<this> {
    await this.#reload(waiting);
    return this;
  }

  /** Every message of the session, oldest first. */
  async history(waiting: Waiting = {}): Promise<Message[]> {
    return (await this.#reload(waiting)).messages;
  }

  /** Change what is given; `ttl` counts from now. */
  async update(changes: SessionChanges, waiting: Waiting = {}): Promise<void> {
    const updated = await this.#transport.call(requests.update({ ...changes, id: this.sessionId }), waiting);
    if (updated === null) await this.#reload(waiting);
    else this.#info = withoutMessages(updated);
  }

  /**
   * Attach a file. Its type is read from its content; `mimeTypeHint` helps.
   *
   * A string is text, sent as UTF-8; with the hint of a type that is no text format (`image/png`) it is base64, and
   * InvalidRequestError where it is not.
   */
  async attachFile(
    fileName: string,
    fileContent: FileContent,
    mimeTypeHint?: string,
    options: AttachOptions = {},
  ): Promise<SessionFile> {
    const call = requests.uploadFile(this.sessionId, fileName, mimeTypeHint);
    const file = await this.#transport.upload(call, bodyOf(fileContent, mimeTypeHint), options);
    const isThere = this.#info.files.some((other) => other.name === file.name && other.sha256 === file.sha256);
    if (!isThere) this.#keepFiles([...this.#info.files, file]);
    return file;
  }

  /**
   * Take a file away, by its index or as one of `files`; these are read anew before.
   *
   * Rejects with SessionFileNotFoundError, which says which files there are.
   */
  async detachFile(file: number | SessionFile, waiting: Waiting = {}): Promise<void> {
    const { files } = await this.#reload(waiting);
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
    await this.#transport.call(requests.detachFile(this.sessionId, index), waiting);
    this.#keepFiles(files.filter((_, place) => place !== index));
  }

  /** Say how good the session was, or, by the `group` of its messages, one answer; a higher score is better. */
  async sendFeedback(score: number, comment: string, groupId = "", waiting: Waiting = {}): Promise<void> {
    await this.#transport.call(requests.sendFeedback(this.sessionId, score, comment, groupId), waiting);
  }

  /** Say what went wrong in the session, or, by the `group` of its messages, in one answer. */
  async sendBugReport(bug: string, groupId = "", waiting: Waiting = {}): Promise<void> {
    await this.#transport.call(requests.sendBugReport(this.sessionId, bug, groupId), waiting);
  }

  /** End the session: a running turn stops, messages and files are erased. */
  async delete(waiting: Waiting = {}): Promise<void> {
    await this.#transport.call(requests.deleteSession(this.sessionId), waiting);
  }

  #hear(message: Message): void {
    this.#after = Math.max(this.#after, message.seq);
    this.#info = withMessage(this.#info, message);
    if (message.message_type === MessageType.QUERY) this.#runningTurn = message.turn;
    if (endsTurn(message) && message.turn === this.#runningTurn) this.#runningTurn = null;
  }

  async #reload(waiting: Waiting): Promise<Session> {
    const session = await this.#transport.call(requests.getSession(this.sessionId), waiting);
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
  if (typeof content !== "string") return new Uint8Array(content); // a copy: the caller's may change on the way
  if (!mimeTypeHint || isTextFormat(mimeTypeHint)) return new TextEncoder().encode(wellFormed(content));
  const bytes = decodeBase64(content);
  if (bytes !== null) return bytes;
  throw new InvalidRequestError(
    `fileContent is not base64, which a string is for ${mimeTypeHint}. Give the bytes as a Uint8Array, ` +
      "or leave mimeTypeHint out where it is text.",
    { param: "fileContent" },
  );
}

/** A callback's fault is its own: it is reported as uncaught, and the stream goes on. */
function call<T>(callback: (value: T) => void, value: T): void {
  try {
    callback(value);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
