// `<svc-chat>`: reads attributes, shows a conversation, dispatches events. Keeps the key in memory only, and asks for it
// if the page gives none. Several elements on one page are independent: each has its own transport and session.
// The update cycle follows LitElement's (`requestUpdate`, `performUpdate`, `render`, `updated`), but one frame at a time.
// LitElement itself would add 2.3 kB to the gzipped script and exceed its limit (build.mjs).
import { html, nothing, render } from "lit/html.js";
import type { TemplateResult } from "lit/html.js";
import { Announcer } from "./announcer.js";
import { Configured, forgetKey, settingsOf, upgradeProperties } from "./attributes.js";
import { Chat } from "./chat.js";
import { ChipDialog } from "./chip-dialog.js";
import { composer, setText } from "./composer.js";
import type { Confirmation, Turn } from "./conversation.js";
import { DropZone } from "./dropping.js";
import { copyFrame, writtenToClipboard } from "./export.js";
import type { SvcChatEventMap } from "./events.js";
import { Launcher } from "./launcher.js";
import { FullScreen } from "./page.js";
import { banner, header, keyForm, landing, modelChoice } from "./panels.js";
import { attributeName } from "./settings.js";
import type { AttributeName, Example, Settings } from "./settings.js";
import { SessionsDialog } from "./sessions-dialog.js";
import { safeMarkdown } from "./safe-markdown.js";
import { markedAnswer, verdictOf } from "./status.js";
import { ENGLISH, fill } from "./strings.js";
import type { Strings } from "./strings.js";
import chartCss from "./chart.css?inline";
import css from "./styles.css?inline";
import { Thread } from "./thread.js";
import { textOf } from "./transport.js";
import type { ChatFile, ChatSession, Decision, SessionRequest, Transport } from "./transport.js";
import { WebsocketTransport } from "./websocket.js";

const TICK_MS = 30_000; // how often the session's time left, in minutes, is updated
const MOVE_MS = 2_000; // an element that is put back by then was moved, and keeps its session

let sheet: CSSStyleSheet | undefined;

declare global {
  interface HTMLElementTagNameMap {
    "svc-chat": SvcChat;
  }
}

export class SvcChat extends Configured {
  /** The landing screen's examples for the attached files, unless the attribute has some. Set it before connecting. */
  suggest: ((files: readonly ChatFile[]) => readonly Example[]) | undefined;
  /** Whether answers have a button that dispatches `svc-insert`. Set it before connecting. */
  canInsert = false;
  #settings: Settings = settingsOf(this);
  #strings: Strings = ENGLISH;
  #transport: Transport | undefined;
  #typedKey = "";
  #chat: Chat | null = null;
  #thread: Thread | undefined;
  readonly #sessions: SessionsDialog;
  readonly #launcher: Launcher;
  readonly #chips: ChipDialog;
  readonly #fullScreen: FullScreen;
  #keyProblem = "";
  #frame = 0;
  #ticker: ReturnType<typeof setInterval> | undefined;
  #leaving: ReturnType<typeof setTimeout> | undefined;
  readonly #announcer: Announcer;
  readonly #dropZone: DropZone;
  #pending = new Set<AttributeName>();

  constructor() {
    super();
    const query = (selector: string) => this.shadowRoot?.querySelector<HTMLElement>(selector);
    this.#announcer = new Announcer(() => query("[role=status]"));
    const renderNow = () => {
      if (this.isConnected) this.#performUpdate();
    };
    this.#sessions = new SessionsDialog({
      find: query,
      render: renderNow,
      chat: () => this.#chat,
      strings: () => this.#strings,
      switchTo: (id) => void this.#switchTo(id),
      startNewSession: this.#startNewSession,
    });
    this.#chips = new ChipDialog(query, renderNow, (text) => this.#copy(text));
    const isFull = () => this.#settings.isFullscreen && (this.#launcher.isOpen || !this.#settings.launcher);
    this.#fullScreen = new FullScreen(this, isFull, this.#headerActions.toggleFullscreen);
    this.#launcher = new Launcher(query, () => {
      if (this.#launcher.isOpen && !this.#chat && this.isConnected) this.#restart();
      else renderNow();
    });
    this.#dropZone = new DropZone(this, () => this.#chat?.transport.attach !== undefined, this.#requestUpdate);
  }

  /** The connection to the service. By default, the element opens a websocket. */
  get transport(): Transport | undefined {
    return this.#transport;
  }
  set transport(transport: Transport | undefined) {
    this.#transport = transport;
    if (this.isConnected) this.#restart();
    else this.#close();
  }

  /** Translations of the element's texts; missing ones stay English. */
  get strings(): Strings {
    return this.#strings;
  }
  set strings(strings: Partial<Strings>) {
    this.#strings = { ...ENGLISH, ...strings };
    this.#thread = undefined; // the turns are rendered again; the connection and what was typed stay
    this.#requestUpdate();
  }

  /** The ID of the session on screen, "" if there is none yet. Setting it sets the attribute. */
  get sessionId(): string {
    return this.#chat?.session?.id ?? "";
  }
  set sessionId(id: string) {
    this.setAttribute("session-id", id);
  }

  connectedCallback(): void {
    clearTimeout(this.#leaving);
    upgradeProperties(this);
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    sheet ??= new CSSStyleSheet();
    if (!root.adoptedStyleSheets.includes(sheet)) {
      sheet.replaceSync(css + chartCss);
      root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
      root.addEventListener("click", this.#onClick);
    }
    this.#dropZone.connect();
    addEventListener("beforeunload", this.#onUnload);
    this.#fullScreen.connect();
    this.#ticker = setInterval(this.#requestUpdate, TICK_MS);
    if (this.#chat) {
      this.#performUpdate();
      this.#applyAttributes();
      return;
    }
    this.#pending.clear();
    this.#settings = settingsOf(this);
    this.#restart();
  }

  /** `moveBefore` keeps the element's state: nothing is to be done. */
  connectedMoveCallback(): void {
    this.#fullScreen.show();
  }

  disconnectedCallback(): void {
    clearInterval(this.#ticker);
    this.#announcer.stop();
    this.#dropZone.disconnect();
    removeEventListener("beforeunload", this.#onUnload);
    this.#fullScreen.disconnect();
    this.#leaving = setTimeout(() => {
      this.#close();
    }, MOVE_MS);
  }

  /** Collects changes, so that attributes set one after the other are applied together. */
  attributeChangedCallback(attribute: string, before: string | null, after: string | null): void {
    const name = attributeName(attribute);
    if (!name || before === after) return;
    if (name === "api-key" && after !== null) forgetKey(this);
    if (this.#pending.size === 0 && this.isConnected) queueMicrotask(this.#applyAttributes);
    this.#pending.add(name);
  }

  /** Focuses the input field. */
  override focus(options?: FocusOptions): void {
    (this.#area ?? this.shadowRoot?.querySelector("input"))?.focus(options);
  }

  /** Opens the dialog of the launcher. */
  open(): void {
    if (this.#settings.launcher) this.#launcher.open();
  }

  /** Closes the dialog of the launcher. */
  close(): void {
    this.#launcher.close();
  }

  /** Puts a question into the input field without sending it, and focuses the field. */
  write(prompt: string): void {
    this.open();
    this.#fillPrompt(prompt);
  }

  /** Sends a question, as if the user had typed and sent it. */
  ask(prompt: string): void {
    this.open();
    this.#ask(prompt);
  }

  /** Attaches files, as if the user had dropped them. */
  attach(files: readonly File[]): void {
    void this.#chat?.attach(files);
  }

  #applyAttributes = (): void => {
    if (!this.isConnected || this.#pending.size === 0) return;
    const changed = new Set(this.#pending);
    this.#pending.clear();
    const before = this.#settings;
    this.#settings = settingsOf(this);
    const is = (...names: AttributeName[]) => names.some((name) => changed.has(name));
    if (is("api-key")) this.#typedKey = "";
    const { sessionName: name, sessionDescription: description, sessionPrompt, sessionId } = this.#settings;
    if (is("model")) this.#chat?.choose(this.#settings.model);
    if (is("launcher")) this.#changeForm();
    if (is("api-key", "base-url", "ws-url")) this.#restart();
    else if (is("session-id") && sessionId !== this.sessionId) void this.#switchTo(sessionId);
    else if (is("incognito") && before.incognito !== this.#settings.incognito) this.#startNewSession();
    else if (is("session-name", "session-description")) void this.#chat?.update({ name, description });
    if (is("session-prompt")) this.#prefill(sessionPrompt, before.sessionPrompt);
    this.#requestUpdate();
  };

  /** The form with a launcher has another parent of everything, so that it is rendered again. */
  #changeForm(): void {
    const typed = this.#area?.value ?? "";
    this.#launcher.isOpen = false;
    if (this.#chat) this.#performUpdate();
    else this.#restart();
    if (this.#area) setText(this.#area, typed);
  }

  #sessionRequest(): SessionRequest {
    const { sessionName: name, sessionDescription: description, incognito, model } = this.#settings;
    return { name, description, logSession: !incognito, ...(model && { model }) };
  }

  #close(): void {
    this.#chat?.close();
    this.#chat = null;
  }

  #restart(): void {
    this.#close();
    this.#sessions.isOpen = false;
    const transport = this.#transport ?? this.#ownTransport();
    const { sessionId: id } = this.#settings;
    const isWaiting = this.#settings.launcher && !this.#launcher.isOpen; // a page that only offers a chat needs no connection
    if (transport && !isWaiting) {
      this.#chat = new Chat(transport, { ...this.#sessionRequest(), ...(id && { id }) }, this.#hooks());
      void this.#chat.start();
    }
    this.#performUpdate();
    this.#prefill();
  }

  #ownTransport(): Transport | null {
    const { apiKey, baseUrl, wsUrl } = this.#settings;
    const key = this.#typedKey || apiKey;
    return key && baseUrl ? new WebsocketTransport(key, baseUrl, wsUrl, () => this.#strings) : null;
  }

  #hooks() {
    const strings = () => this.#strings;
    return {
      get strings() {
        return strings();
      },
      changed: this.#requestUpdate,
      fresh: this.#prefill,
      announce: this.#announcer.announce,
      opened: ({ id, name }: ChatSession, isNew: boolean) => {
        this.#emit("svc-session", { sessionId: id, name, isNew });
        if (!isNew) requestAnimationFrame(() => this.#thread?.revealLast());
      },
      ended: this.#ended,
      unsent: (questions: readonly string[]) => {
        const area = this.#area;
        if (area && questions.length) setText(area, [...questions, area.value].filter(Boolean).join("\n\n"));
      },
      failed: (code: string, message: string) => {
        this.#emit("svc-error", { code, message });
        if (code === "invalid_api_key") this.#askForKey();
      },
    };
  }

  #ended = (turn: Turn): void => {
    if (turn.answer) this.#announcer.announce(fill(this.#strings.answerReady, verdictOf(turn, this.#strings)));
    else if (turn.failure) this.#announcer.announce(turn.failure.text);
    this.#emit("svc-result", { turn: turn.id, state: turn.state, status: turn.status, answer: turn.answer });
  };

  #askForKey(): void {
    this.#typedKey = "";
    this.#keyProblem = this.#strings.keyWrong;
    queueMicrotask(() => {
      this.#chat?.close();
      this.#chat = null;
      this.#requestUpdate();
    });
  }

  #emit<Name extends keyof SvcChatEventMap>(name: Name, detail: SvcChatEventMap[Name]["detail"]): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  #requestUpdate = (): void => {
    if (this.#frame || !this.isConnected) return;
    const update = () => {
      this.#frame = 0;
      if (this.isConnected) this.#performUpdate();
    };
    this.#frame = document.hidden ? Number(setTimeout(update, 100)) : requestAnimationFrame(update); // a hidden page has no frames
  };

  #performUpdate(): void {
    const { shadowRoot: root } = this;
    if (!root) return;
    render(this.#render(), root, { creationScope: document });
    this.#fullScreen.show();
    this.#updated(root);
  }

  #updated(root: ShadowRoot): void {
    this.#launcher.updated();
    const container = root.querySelector<HTMLElement>(".turns");
    if (!container || !this.#chat) return;
    if (this.#thread?.container !== container) this.#thread = new Thread(container, this.#threadActions());
    this.#thread.update(this.#chat.conversation);
  }

  #render(): TemplateResult {
    const strings = this.#strings;
    const chat = this.#chat;
    const view = { isSessionsOpen: this.#sessions.isOpen, now: Date.now() / 1000 };
    const isEmpty = !chat?.conversation.turns.length;
    const content = html`<div class="chat" data-theme=${this.#settings.theme}>
      ${header(chat, this.#settings, view, this.#headerActions, strings)} ${this.#sessions.template()}
      ${chat ? banner(chat, () => this.#restart(), strings) : nothing}
      <div class="scroll" role="log" aria-live="off" aria-label=${strings.conversation} tabindex="0">
        ${chat ? nothing : this.#keyForm()} ${chat?.phase === "ready" && isEmpty ? this.#landing(chat) : nothing}
        <div class="turns" ?hidden=${!chat}></div>
      </div>
      ${composer(chat, this.#composerActions, strings)} ${this.#chips.template(strings)}
      ${this.#dropZone.isVisible ? html`<p class="drop">${strings.dropHere}</p>` : nothing}
      <div class="hidden" role="status"></div>
    </div>`;
    return this.#settings.launcher ? this.#launcher.template(content, this.#settings, strings) : content;
  }

  #landing(chat: Chat): TemplateResult {
    const { examples, model } = this.#settings;
    const choose = (chosen: string) => {
      this.model = chosen;
    };
    const shown = examples.length ? examples : (this.suggest?.(chat.files) ?? []);
    const models = modelChoice(chat, model, choose, this.#strings);
    return landing(shown, this.#fillPrompt, models, this.#strings);
  }

  #keyForm(): TemplateResult {
    const use = (key: string) => {
      this.#typedKey = key;
      this.#keyProblem = "";
      this.#restart();
      this.#area?.focus();
    };
    return keyForm(this.#settings.baseUrl, this.#keyProblem, use, this.#strings);
  }

  readonly #headerActions = {
    toggleSessions: () => {
      this.#sessions.toggle();
    },
    startNewSession: () => {
      this.#startNewSession();
    },
    extend: () => {
      void this.#chat?.update({ ttl: this.#chat.session?.ttl ?? 0 });
    },
    toggleFullscreen: () => {
      this.isFullscreen = !this.#settings.isFullscreen;
    },
    close: () => {
      this.close();
    },
  };

  readonly #composerActions = {
    send: (text: string) => this.#ask(text),
    stop: () => void this.#chat?.stop(),
    attach: (files: readonly File[]) => void this.#chat?.attach(files),
    dismiss: (upload: Parameters<Chat["dismiss"]>[0]) => this.#chat?.dismiss(upload),
    detach: (file: Parameters<Chat["detach"]>[0]) => void this.#chat?.detach(file),
    editLast: () => {
      const last = this.#chat?.conversation.turns.at(-1);
      if (last && !last.isOpen) this.#edit(last);
    },
  };

  #threadActions() {
    return {
      strings: this.#strings,
      canRate: this.#chat?.transport.feedback !== undefined,
      retry: (turn: Turn) => {
        this.#ask(turn.question, turn);
      },
      editing: (turn: Turn | null) => {
        this.#edit(turn);
      },
      resend: (turn: Turn, text: string) => {
        this.#thread?.edit(null);
        this.#ask(text, turn);
      },
      copy: (text: string) => void this.#copy(text),
      write: (question: string) => this.write(question),
      ...(this.canInsert && { insertAnswer: (turn: Turn) => void this.#insert(turn) }),
      copyAnswer: (turn: Turn) => void this.#copy(safeMarkdown(markedAnswer(turn, this.#strings))),
      rate: (turn: Turn, score: number) => void this.#chat?.rate(turn, score),
      canConfirm: this.#chat?.transport.confirm !== undefined,
      confirm: (asked: Confirmation, decision: Decision) => void this.#chat?.confirm(asked, decision),
    };
  }

  #ask(text: string, replaced?: Turn): void {
    void this.#chat?.ask(text, replaced);
    this.#performUpdate();
    this.#thread?.revealLast();
    this.#area?.focus();
  }

  /** Hands the answer to the page, as Markdown that is safe in any renderer. */
  async #insert(turn: Turn): Promise<void> {
    try {
      const markdown =
        (turn.isPartial ? undefined : await this.#chat?.transport.answer?.(turn.id)) ??
        safeMarkdown(markedAnswer(turn, this.#strings));
      this.#emit("svc-insert", { turn: turn.id, markdown });
    } catch (error) {
      this.#announcer.announce(textOf(error));
    }
  }

  #edit(turn: Turn | null): void {
    this.#thread?.edit(turn);
    if (turn) this.shadowRoot?.querySelector<HTMLElement>(".editor textarea")?.focus();
    else this.#area?.focus();
  }

  #fillPrompt = (prompt: string): void => {
    if (this.#area) setText(this.#area, prompt);
    this.#area?.focus();
  };

  #startNewSession = (): void => {
    this.#sessions.isOpen = false;
    this.#chat?.startNewSession(this.#sessionRequest());
    this.#area?.focus();
  };

  async #switchTo(id: string): Promise<void> {
    if (!id) {
      this.#startNewSession();
      return;
    }
    try {
      await this.#chat?.switchTo(id);
    } catch (error) {
      this.#emit("svc-error", { code: "", message: textOf(error) });
      this.#announcer.announce(textOf(error));
    }
  }

  /** Fills the input field of a new session, unless the user has typed something. */
  #prefill = (text = this.#settings.sessionPrompt, before = ""): void => {
    const area = this.#area;
    const isNew = this.#chat ? this.#chat.isNew : !this.#settings.sessionId;
    if (area && isNew && (area.value === "" || area.value === before)) setText(area, text);
  };

  async #copy(text: string): Promise<boolean> {
    const isDone = await writtenToClipboard(text);
    this.#announcer.announce(isDone ? this.#strings.copied : this.#strings.copyFailed);
    return isDone;
  }

  get #area(): HTMLTextAreaElement | null {
    return this.shadowRoot?.querySelector(".composer textarea") ?? null;
  }

  /** Handles clicks inside answers, whose nodes are not made by templates. */
  #onClick = (event: Event): void => {
    const target = event.target instanceof Element ? event.target.closest<HTMLElement>(".chip, .copy") : null;
    if (!target) return;
    if (this.#chips.open(target)) return;
    void copyFrame(target, (text) => this.#copy(text), this.#strings);
  };

  /** The browser asks before it closes a page whose question or file is not with the service yet. */
  #onUnload = (event: BeforeUnloadEvent): void => {
    if (this.#chat?.isSending) event.preventDefault();
  };
}
