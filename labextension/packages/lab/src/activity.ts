// What a kernel tells of its session, kept for the status bar, the commands and the notifications. Pure.
import type { ChatMessage, ChatSession } from "svc-chat";
import type { Watcher } from "svc-chat/src/channel.js";

export type State = "idle" | "asking" | "waiting";

/** A turn that came to its end while somebody listened. */
export interface Ended {
  readonly turn: string;
  readonly seconds: number;
  readonly isAnswered: boolean;
  readonly question: string;
}

interface Begun {
  readonly at: number;
  readonly question: string;
}

export class Activity implements Watcher {
  current: ChatSession | null = null;
  model = "";
  /** Whose turn a question waits for: "In [3]", "panel", or "". */
  waitingFor = "";
  #isBusy = false;
  readonly #begun = new Map<string, Begun>();

  constructor(
    private readonly changed: () => void,
    private readonly ended: (turn: Ended) => void,
  ) {}

  get state(): State {
    if (this.waitingFor) return "waiting";
    return this.#isBusy || this.#begun.size ? "asking" : "idle";
  }

  session(session: ChatSession | null, model: string): void {
    if (session?.id !== this.current?.id) this.#begun.clear();
    this.current = session;
    this.model = model;
    this.changed();
  }

  waiting(holder: string | null): void {
    this.waitingFor = holder ?? "";
    this.changed();
  }

  busy(isBusy: boolean): void {
    this.#isBusy = isBusy;
    if (!isBusy) this.#begun.clear();
    this.changed();
  }

  message(message: ChatMessage): void {
    const { turn, message_type: kind, created_at: at } = message;
    if (kind === "query") this.#begun.set(turn, { at, question: message.content ?? "" });
    const isAnswered = kind === "info" && message.state === "end";
    if (!isAnswered && kind !== "error" && kind !== "query") return;
    const begun = this.#begun.get(turn);
    if (kind !== "query" && begun) {
      this.#begun.delete(turn);
      this.ended({ turn, seconds: at - begun.at, isAnswered, question: begun.question });
    }
    this.changed();
  }
}
