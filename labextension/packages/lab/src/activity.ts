// The state of a kernel's session, for the status bar, the commands and the notifications. Pure.
import type { ChatMessage, ChatSession } from "@svc-jupyter/chat";
import type { SessionObserver } from "@svc-jupyter/chat/src/channel.js";

export type State = "idle" | "asking" | "waiting";

/** A turn whose start and end were both observed. */
export interface TurnSummary {
  readonly turn: string;
  readonly seconds: number;
  readonly isAnswered: boolean;
  /** How far the question is answered (docs/wire.md, "Answer status"), or "". */
  readonly status: string;
  readonly question: string;
}

interface OpenTurn {
  readonly at: number;
  readonly question: string;
  status: string;
}

export class Activity implements SessionObserver {
  current: ChatSession | null = null;
  model = "";
  /** The turn that a question waits for: "In [3]", "panel", or "". */
  waitingFor = "";
  #isBusy = false;
  readonly #openTurns = new Map<string, OpenTurn>();

  constructor(
    private readonly changed: () => void,
    private readonly ended: (turn: TurnSummary) => void,
  ) {}

  get state(): State {
    if (this.waitingFor) return "waiting";
    return this.#isBusy || this.#openTurns.size ? "asking" : "idle";
  }

  session(session: ChatSession | null, model: string): void {
    if (session?.id !== this.current?.id) this.#openTurns.clear();
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
    if (!isBusy) this.#openTurns.clear();
    this.changed();
  }

  message(message: ChatMessage): void {
    const { turn, message_type: kind, created_at: at } = message;
    if (kind === "query") this.#openTurns.set(turn, { at, question: message.content ?? "", status: "" });
    const opened = this.#openTurns.get(turn);
    if (kind === "result" && opened) opened.status = message.answer_status ?? "";
    const isAnswered = kind === "info" && message.state === "end";
    if (!isAnswered && kind !== "error" && kind !== "query") return;
    if (kind !== "query" && opened) {
      this.#openTurns.delete(turn);
      const { question, status } = opened;
      this.ended({ turn, seconds: at - opened.at, isAnswered, status, question });
    }
    this.changed();
  }
}
