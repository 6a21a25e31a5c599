// Builds turns (question, trace, answer, pictures, outcome) from a session's messages. Pure: no DOM, clock or network.
// Messages arrive in order of `seq`; repeated ones are dropped. Source: docs/wire.md, "Message".
import { toolCallOf } from "./call-arguments.js";
import type { ToolCall } from "./call-arguments.js";
import type { ChatMessage } from "./transport.js";

export type TurnState = "sending" | "running" | "answered" | "failed" | "stopped";

export interface Step {
  readonly id: string;
  readonly kind: string;
  readonly actor: string;
  readonly text: string;
  readonly mimeType: string;
  readonly at: number;
}

export interface Picture {
  readonly id: string;
  readonly title: string;
  readonly mimeType: string;
  readonly base64: string;
}

export interface Failure {
  readonly code: string;
  readonly text: string;
}

/** A `confirmation_request`. */
export interface Confirmation extends ToolCall {
  readonly id: string;
}

interface AnswerPart {
  readonly id: string;
  text: string;
}

/** One question and everything that followed. `version` grows with every change, so that a view knows what to update. */
export class Turn {
  version = 0;
  state: TurnState = "sending";
  steps: Step[] = [];
  pictures: Picture[] = [];
  /** The confirmation that the service is waiting for, while the turn runs. */
  confirmation: Confirmation | null = null;
  failure: Failure | null = null;
  startedAt = 0;
  endedAt = 0;
  /** The `group` of the answer, which feedback refers to. */
  group = "";
  /** How far the question is answered (docs/wire.md, "Answer status"), or "". */
  status = "";
  /** The answer is what was found in the part of the evidence that was read until the question was cancelled. */
  isPartial = false;
  /** An edited question was asked instead. */
  isReplaced = false;
  /** The user's rating: 1, -1, or 0 for none. */
  score = 0;
  readonly parts: AnswerPart[] = [];

  constructor(
    public id: string,
    /** The ID of its `query` message, "" until it arrives. */
    public questionId: string,
    public question: string,
  ) {}

  /** The RESULT as Markdown, as far as received. */
  get answer(): string {
    return this.parts.map((part) => part.text).join("");
  }

  get isOpen(): boolean {
    return this.state === "sending" || this.state === "running";
  }

  get lastStep(): Step | undefined {
    return this.steps.at(-1);
  }
}

const PARTIAL = "partial_answer"; // docs/wire.md, "Partial answers"
const STOPPED = 499; // docs/wire.md, "Errors": the client cancelled the turn
const PICTURES = new Set(["image/svg+xml", "image/png", "image/jpeg", "image/gif", "image/webp"]);

export class Conversation {
  readonly turns: Turn[] = [];
  /** The ids of the messages seen: a restored service counts from a smaller `seq` again. */
  readonly seen = new Set<string>();
  version = 0;

  get openTurn(): Turn | undefined {
    return this.turns.findLast((turn) => turn.isOpen);
  }

  /** Adds the user's question, before the service has it. */
  ask(prompt: string): Turn {
    const turn = new Turn("", "", prompt);
    this.turns.push(turn);
    return this.#changed(turn);
  }

  /** Marks a turn as failed: its question did not reach the service, or was refused. */
  fail(turn: Turn, failure: Failure): void {
    if (turn.isOpen) {
      turn.state = failure.code === "cancelled" ? "stopped" : "failed";
      turn.failure = failure;
      this.#changed(turn);
    }
  }

  /** Removes a turn that the service does not know. */
  drop(turn: Turn): void {
    this.turns.splice(this.turns.indexOf(turn), 1);
    this.version += 1;
  }

  /** Marks a turn as replaced by an edited question. */
  replace(turn: Turn, isReplaced: boolean): void {
    turn.isReplaced = isReplaced;
    this.#changed(turn);
  }

  rate(turn: Turn, score: number): void {
    turn.score = score;
    this.#changed(turn);
  }

  /** Applies a message. Returns the turn that changed, or undefined. */
  receive(message: ChatMessage): Turn | undefined {
    if (message.seq === 0) return this.#refused(message);
    if (this.seen.has(message.id)) return undefined;
    this.seen.add(message.id);
    const turn = this.#turnOf(message);
    turn.startedAt ||= message.created_at;
    if (turn.state === "sending") turn.state = "running";
    this.#apply(turn, message);
    return this.#changed(turn);
  }

  #apply(turn: Turn, message: ChatMessage): void {
    switch (message.message_type) {
      case "query":
        turn.question = message.content ?? "";
        break;
      case "result":
        if (turn.isPartial) turn.parts.length = 0;
        turn.isPartial = false;
        this.#applyPart(turn, message);
        break;
      case "info":
        if (message.title === PARTIAL && message.mime_type === "text/markdown") {
          turn.isPartial = true;
          this.#applyPart(turn, message);
        } else this.#addStep(turn, message);
        break;
      case "error":
        turn.state = message.status_code === STOPPED ? "stopped" : "failed";
        turn.failure = { code: message.status_message, text: message.content ?? "" };
        turn.endedAt = message.created_at;
        break;
      case "update":
      case "delete":
        this.#amend(turn, message);
        break;
      case "cancel":
        break;
      case "confirmation_request":
      case "confirmation_response":
        turn.confirmation = confirmationOf(message);
        this.#addStep(turn, message);
        break;
      default:
        this.#addStep(turn, message);
    }
  }

  #applyPart(turn: Turn, message: ChatMessage): void {
    turn.group = message.group;
    turn.status = message.answer_status ?? "";
    const text = message.content ?? "";
    const known = turn.parts.find((part) => part.id === message.id);
    if (known) known.text = text;
    else turn.parts.push({ id: message.id, text });
  }

  #addStep(turn: Turn, message: ChatMessage): void {
    if (PICTURES.has(message.mime_type)) {
      const { id, title, mime_type: mimeType, content } = message;
      turn.pictures.push({ id, title: title ?? "", mimeType, base64: content ?? "" });
      return;
    }
    turn.steps.push(stepOf(message));
    if (message.message_type === "info" && message.state === "end") {
      if (turn.isOpen) turn.state = "answered";
      turn.endedAt = message.created_at;
    }
  }

  /** `update` and `delete` refer to an earlier message by their own ID or their parent's. */
  #amend(turn: Turn, message: ChatMessage): void {
    const isMeant = (item: { id: string }) => item.id === message.id || item.id === message.parent_id;
    const part = turn.parts.find(isMeant);
    const isDelete = message.message_type === "delete";
    if (part) part.text = isDelete ? "" : (message.content ?? "");
    else if (isDelete) turn.steps = turn.steps.filter((step) => !isMeant(step));
    else {
      turn.steps = turn.steps.map((step) =>
        isMeant(step) ? { ...step, text: message.content ?? "", mimeType: message.mime_type } : step,
      );
    }
  }

  /** An error with seq 0: the service refused the question that it names, or else the one being sent. */
  #refused(message: ChatMessage): Turn | undefined {
    if (message.message_type !== "error") return undefined;
    const turn =
      this.turns.findLast(
        (one) => one.id !== "" && (one.id === message.turn || one.questionId === message.parent_id),
      ) ?? this.turns.findLast((one) => one.state === "sending");
    if (turn) this.fail(turn, { code: message.status_message, text: message.content ?? "" });
    return turn;
  }

  /** An echoed question belongs to the turn being sent, even if the transport gave it another ID. */
  #turnOf(message: ChatMessage): Turn {
    const isQuery = message.message_type === "query";
    const known = this.turns.findLast(
      (turn) => turn.id === message.turn || (isQuery && turn.state === "sending" && turn.question === message.content),
    );
    const turn = known ?? new Turn(message.turn, "", "");
    if (!known) this.turns.push(turn);
    turn.id = message.turn;
    if (isQuery) turn.questionId = message.id;
    return turn;
  }

  #changed(turn: Turn): Turn {
    turn.version += 1;
    this.version += 1;
    return turn;
  }
}

function confirmationOf({ id, message_type: type, content }: ChatMessage): Confirmation | null {
  if (type !== "confirmation_request") return null;
  const call = toolCallOf(content ?? "");
  return call && { id, ...call };
}

function stepOf(message: ChatMessage): Step {
  const isText = message.mime_type.startsWith("text/") || /^(confirm|local)/.test(message.message_type);
  const text = isText ? (message.content ?? "") : nameOf(message);
  return {
    id: message.id,
    kind: message.message_type,
    actor: message.actor,
    text,
    mimeType: message.mime_type,
    at: message.created_at,
  };
}

function nameOf(message: ChatMessage): string {
  return `${message.title ?? message.message_type} (${message.mime_type})`;
}
