// The model of one chat: turns the user's actions and the transport's messages into a conversation, files and a state.
// Does not use the DOM. A session is created by the first question or file, so that viewing a page leaves none behind.
import { Conversation } from "./conversation.js";
import type { Confirmation, Turn } from "./conversation.js";
import { duration, fill } from "./strings.js";
import type { Strings } from "./strings.js";
import { codeOf, textOf } from "./transport.js";
import type {
  ChatFile,
  ChatMessage,
  ChatSession,
  ChatUser,
  Connection,
  Decision,
  QueuedQuestion,
  SessionRequest,
  Transport,
} from "./transport.js";

export type Phase = "opening" | "ready" | "needs-key" | "failed";

export interface Notice {
  readonly isError: boolean;
  readonly text: string;
}

export interface Upload {
  readonly name: string;
  readonly size: number;
  share: number;
  error: string;
  readonly controller: AbortController;
}

export interface ChatHooks {
  readonly strings: Strings;
  /** The view must be updated. */
  changed(): void;
  /** Announce a text to screen readers. */
  announce(text: string): void;
  opened(session: ChatSession, isNew: boolean): void;
  ended(turn: Turn): void;
  failed(code: string, text: string): void;
  /** A new session is on screen, without questions. */
  fresh(): void;
  /** These questions did not reach the service and are no longer on screen. */
  unsent(questions: readonly string[]): void;
}

const LAST_BYTES = 1_000_000; // with less of an upload left, it may arrive before it can be aborted
const GONE = new Set(["session_not_found", "session_expired"]);

export class Chat {
  conversation = new Conversation();
  session: ChatSession | null = null;
  user: ChatUser | null = null;
  connection: Connection = "connecting";
  phase: Phase = "opening";
  notice: Notice | null = null;
  files: ChatFile[] = [];
  uploads: Upload[] = [];
  isStopping = false;
  #isFresh: boolean;
  /** Questions of other pages that wait in the kernel, by their turn. */
  readonly #queued = new Map<Turn, string>();
  readonly #lifetime = new AbortController();
  #sending = new AbortController();
  /** The session that is being opened: questions and files wait for it. */
  #opening: Promise<unknown> | null = null;
  #lastDetach = Promise.resolve(true);

  constructor(
    readonly transport: Transport,
    private request: SessionRequest,
    private readonly hooks: ChatHooks,
  ) {
    this.#isFresh = request.id === undefined;
    transport.listen({
      onMessage: (message) => {
        this.#receive(message);
      },
      onConnection: (connection, error) => {
        this.#setConnection(connection, error);
      },
      onNotice: (text) => {
        this.notice = null;
        if (text) this.#notify(text);
        this.hooks.changed();
      },
      onSession: (session) => {
        this.#setSession(session);
      },
      onQueued: (queued) => {
        this.#showQueued(queued);
      },
    });
  }

  get isBusy(): boolean {
    return this.conversation.openTurn !== undefined;
  }

  /** Whether no question can be sent now. */
  get isBlocked(): boolean {
    return this.isBusy && (!this.transport.isQueueing || this.conversation.openTurn?.state === "sending");
  }

  /** Whether the session is new, and nothing was asked. */
  get isNew(): boolean {
    return this.#isFresh && this.conversation.turns.length === 0;
  }

  /** The model of the session on screen, "" if it is not known. */
  get model(): string {
    return this.session?.model?.model_string ?? "";
  }

  /** Chooses the model of the next session. */
  choose(model: string): void {
    this.request = { ...this.request, model };
  }

  /** Whether something would be lost if the page were closed now. */
  get isSending(): boolean {
    return this.#unsent().some(({ state }) => state === "sending") || this.uploads.some(({ error }) => !error);
  }

  /** Reads the key's user, and opens the requested session if there is one. */
  async start(): Promise<void> {
    const id = this.request.id;
    this.#setPhase("opening");
    try {
      await (id ? this.#openOnce(this.#openRequested(id)) : this.#readUser());
      this.#setPhase("ready");
    } catch (error) {
      this.#fail(error);
    }
  }

  close(): void {
    this.hooks.unsent(this.#unsent().map(({ question }) => question));
    this.#lifetime.abort();
    for (const upload of this.uploads) upload.controller.abort();
    this.transport.close();
  }

  /** Opens the session; if it no longer exists, opens a new one and shows a notice. */
  async switchTo(id: string): Promise<void> {
    this.#reset();
    this.#isFresh = false;
    this.hooks.changed();
    await this.#openOnce(this.#resume(id));
  }

  /** Clears the chat; the next question or file creates the session. */
  startNewSession(request: SessionRequest): void {
    this.#reset();
    this.request = request;
    this.connection = "connected";
    this.#begin();
  }

  /** Asks a question. `replaced` is the turn whose edited or repeated question this is. */
  async ask(prompt: string, replaced?: Turn): Promise<void> {
    const text = prompt.trim();
    if (!text || this.isBlocked) return;
    this.notice = null;
    if (replaced?.startedAt === 0) this.conversation.drop(replaced);
    else if (replaced) this.conversation.replace(replaced, true);
    const { conversation } = this;
    const turn = conversation.ask(text);
    this.#sending = new AbortController();
    const { signal } = this.#sending;
    this.hooks.changed();
    try {
      await this.#ensureSession();
      signal.throwIfAborted();
      if (this.conversation.turns.includes(turn)) await this.transport.send(text, signal);
    } catch (error) {
      this.#sendFailed(turn, signal.aborted ? { code: "cancelled" } : error);
    }
  }

  async stop(): Promise<void> {
    const turn = this.conversation.openTurn;
    if (!turn || this.isStopping) return;
    const queued = this.#queued.get(turn);
    if (queued !== undefined) {
      await this.#withdraw(turn, queued);
      return;
    }
    if (turn.state === "sending") {
      this.#sending.abort();
      return;
    }
    this.isStopping = true;
    this.hooks.changed();
    try {
      await this.transport.cancel(turn.id);
    } catch (error) {
      this.isStopping = false;
      this.#notify(textOf(error), true);
    }
  }

  async #withdraw(turn: Turn, request: string): Promise<void> {
    await this.#try(async () => {
      await this.transport.withdraw?.(request);
      this.conversation.fail(turn, { code: "cancelled", text: "" });
    });
  }

  async attach(files: readonly File[]): Promise<void> {
    await Promise.all(files.map((file) => this.#uploadFile(file)));
  }

  /** Aborts an upload, or removes a failed one. An almost finished one continues and is detached afterwards. */
  dismiss(upload: Upload): void {
    if (upload.size * (1 - upload.share) > LAST_BYTES) upload.controller.abort();
    this.uploads = this.uploads.filter((one) => one !== upload);
    this.hooks.changed();
  }

  /** Detaches files one after the other, because the wire addresses them by index. False if that failed. */
  detach(file: ChatFile): Promise<boolean> {
    this.#lastDetach = this.#lastDetach.then(() =>
      this.#try(async () => {
        const place = this.files.indexOf(file);
        await this.transport.detach?.(place < 0 ? this.files.length : place, file); // a dismissed upload is the last file
        this.files = this.files.filter((one) => one !== file);
        this.hooks.announce(fill(this.hooks.strings.detached, file.name));
      }),
    );
    return this.#lastDetach;
  }

  /** Renames, describes or extends the session, or changes the request if there is no session yet. */
  async update(change: { name?: string; description?: string; ttl?: number }): Promise<void> {
    if (!this.session) {
      this.request = { ...this.request, ...change };
      this.hooks.changed();
      return;
    }
    await this.#try(async () => {
      this.session = (await this.transport.update?.(change)) ?? this.session;
      if (change.ttl) this.#notify(fill(this.hooks.strings.extended, duration(change.ttl)));
    });
  }

  async rate(turn: Turn, score: number): Promise<void> {
    await this.#try(async () => {
      await this.transport.feedback?.(score, "", turn.group);
      this.conversation.rate(turn, score);
      this.hooks.announce(this.hooks.strings.thanks);
    });
  }

  async confirm({ id }: Confirmation, decision: Decision): Promise<void> {
    await this.#try(async () => {
      await this.transport.confirm?.(id, decision);
    });
  }

  get name(): string {
    return this.session?.name ?? this.request.name ?? "";
  }

  /** Whether questions are logged although the page asked for an unlogged session. */
  get isLoggedDespiteIncognito(): boolean {
    if (this.request.logSession !== false) return false;
    if (this.session) return this.session.can_log;
    return this.user !== null && !this.user.never_log && !this.user.can_disable_logging;
  }

  get isUnlogged(): boolean {
    if (this.session) return !this.session.can_log;
    return this.user?.never_log === true || (this.request.logSession === false && !this.isLoggedDespiteIncognito);
  }

  #reset(): void {
    for (const upload of this.uploads) upload.controller.abort();
    const isKept = ({ state }: Turn) => state === "sending" && this.transport.isQueueing; // the kernel has it
    const unsent = this.#unsent().filter((turn) => !isKept(turn));
    this.hooks.unsent(unsent.map(({ question }) => question));
    this.#queued.clear();
    this.conversation = new Conversation();
    Object.assign(this, { session: null, notice: null, files: [], uploads: [], isStopping: false });
    this.#opening = null;
  }

  async #readUser(): Promise<void> {
    this.user = (await this.transport.user?.(this.#lifetime.signal)) ?? null;
  }

  async #openRequested(id: string): Promise<void> {
    const { conversation } = this;
    await this.#readUser();
    if (this.conversation === conversation) await this.#resume(id); // else another session was chosen meanwhile
  }

  async #resume(id: string): Promise<void> {
    try {
      await this.#open({ ...this.request, id });
    } catch (error) {
      if (!GONE.has(codeOf(error))) throw error;
      this.#notify(fill(this.hooks.strings.sessionGone, id));
      await this.#open(withoutId(this.request));
      this.#begin();
    }
  }

  #begin(): void {
    this.#isFresh = true;
    this.hooks.fresh();
    this.hooks.changed();
  }

  async #ensureSession(): Promise<void> {
    if (!this.session) await (this.#opening ?? this.#openOnce(this.#open(withoutId(this.request))));
  }

  #openOnce(session: Promise<unknown>): Promise<unknown> {
    const opening = session.finally(() => {
      if (this.#opening === opening) this.#opening = null;
    });
    return (this.#opening = opening);
  }

  async #open(request: SessionRequest): Promise<void> {
    const conversation = this.conversation;
    const { session, messages, queued = [] } = await this.transport.open(request, this.#lifetime.signal);
    if (this.conversation !== conversation) return; // another session was opened meanwhile
    this.session = session;
    this.files = [...session.files];
    if (request.id === undefined) conversation.seen.clear(); // the turns on screen belong to a session that has ended
    if (messages.length) this.conversation = withHistory(messages, conversation);
    this.#showQueued(queued);
    this.hooks.opened(session, request.id === undefined);
    this.hooks.changed();
  }

  #showQueued(queued: readonly QueuedQuestion[]): void {
    for (const { request, content } of queued) {
      const isKnown = this.conversation.turns.some((turn) => turn.state === "sending" && turn.question === content);
      if (!isKnown) this.#queued.set(this.conversation.ask(content), request);
    }
    this.hooks.changed();
  }

  /** The turns whose questions only this page has. */
  #unsent(): Turn[] {
    return this.conversation.turns.filter(
      (turn) => turn.startedAt === 0 && turn.state !== "stopped" && !this.#queued.has(turn),
    );
  }

  #receive(message: ChatMessage): void {
    const turn = this.conversation.receive(message);
    if (!turn) return;
    if (turn.isOpen) {
      const step = turn.lastStep;
      if (step && message.message_type === "info") this.hooks.announce(step.text);
    } else if (turn.endedAt === message.created_at || message.seq === 0) {
      this.isStopping = false;
      this.hooks.ended(turn);
    }
    this.hooks.changed();
  }

  #setConnection(connection: Connection, error: unknown): void {
    const was = this.connection;
    this.connection = connection;
    if (connection === "reconnecting" && was !== connection) this.hooks.announce(this.hooks.strings.reconnecting);
    if (connection === "connected" && was === "reconnecting") this.hooks.announce(this.hooks.strings.back);
    if (connection === "closed" && error) {
      const turn = this.conversation.openTurn;
      if (turn) this.conversation.fail(turn, { code: codeOf(error), text: textOf(error) });
      this.#handleLoss(error);
    }
    this.hooks.changed();
  }

  /** Another client, such as a cell, changed the session or switched to another. */
  #setSession(session: ChatSession | null): void {
    if (session && session.id === this.session?.id) {
      this.session = session;
      this.files = [...session.files];
    } else if (session) {
      this.switchTo(session.id).catch((error: unknown) => {
        this.#fail(error);
      });
    } else if (this.session) this.startNewSession(this.request);
    this.hooks.changed();
  }

  #sendFailed(turn: Turn, error: unknown): void {
    this.conversation.fail(turn, { code: codeOf(error), text: textOf(error) });
    this.isStopping = false;
    this.#handleLoss(error);
    if (turn.state === "failed") this.hooks.failed(codeOf(error), textOf(error));
    this.hooks.changed();
  }

  /** Handles an error that means the session or the key is no longer valid. */
  #handleLoss(error: unknown): void {
    const code = codeOf(error);
    if (GONE.has(code)) {
      this.session = null;
      this.files = [];
      this.#notify(this.hooks.strings.sessionEnded);
    } else if (code === "invalid_api_key") {
      this.#fail(error);
    }
  }

  async #uploadFile(file: File): Promise<void> {
    const { strings } = this.hooks;
    const upload: Upload = { name: file.name, size: file.size, share: 0, error: "", controller: new AbortController() };
    this.uploads = [...this.uploads, upload];
    this.hooks.announce(fill(strings.uploading, file.name));
    this.hooks.changed();
    try {
      await this.#ensureSession();
      if (!this.uploads.includes(upload)) return;
      const attached = await this.transport.attach?.(file, {
        signal: upload.controller.signal,
        onProgress: (share) => {
          upload.share = share;
          this.hooks.changed();
        },
      });
      if (attached && !upload.controller.signal.aborted) await this.#attached(upload, attached);
    } catch (error) {
      upload.error = textOf(error);
      if (!upload.controller.signal.aborted) this.hooks.announce(upload.error);
    }
    this.hooks.changed();
  }

  async #attached(upload: Upload, file: ChatFile): Promise<void> {
    const isWanted = this.uploads.includes(upload);
    this.uploads = this.uploads.filter((one) => one !== upload);
    if (!isWanted && (await this.detach(file))) return;
    if (!this.files.includes(file)) this.files = [...this.files, file];
    this.hooks.announce(fill(this.hooks.strings.attached, file.name));
  }

  /** Runs an action whose failure does not affect the conversation: a notice shows the error. */
  async #try(act: () => Promise<void>): Promise<boolean> {
    let isDone = true;
    try {
      await act();
    } catch (error) {
      isDone = false;
      this.#notify(textOf(error), true);
    }
    this.hooks.changed();
    return isDone;
  }

  #notify(text: string, isError = false): void {
    this.notice = { text, isError };
    this.hooks.announce(text);
  }

  #fail(error: unknown): void {
    if (this.#lifetime.signal.aborted) return;
    const isKey = codeOf(error) === "invalid_api_key";
    this.#notify(isKey ? this.hooks.strings.keyWrong : textOf(error), true);
    this.hooks.failed(codeOf(error), textOf(error));
    this.#setPhase(isKey ? "needs-key" : "failed");
  }

  #setPhase(phase: Phase): void {
    this.phase = phase;
    this.hooks.changed();
  }
}

/** The history, followed by the questions that were asked before it was read. */
function withHistory(messages: readonly ChatMessage[], before: Conversation): Conversation {
  const asked = before.turns.filter((turn) => turn.state === "sending");
  const conversation = asked.length ? new Conversation() : before;
  for (const message of messages) conversation.receive(message);
  conversation.turns.push(...(conversation === before ? [] : asked));
  return conversation;
}

function withoutId({ name, description, logSession, model }: SessionRequest): SessionRequest {
  return {
    ...(name && { name }),
    ...(description && { description }),
    ...(logSession !== undefined && { logSession }),
    ...(model && { model }),
  };
}
