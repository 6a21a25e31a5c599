// The events of `<svc-chat>`, for `addEventListener` on any element: they bubble, also out of shadow roots.
import type { TurnState } from "./conversation.js";

/** A session was opened. */
export interface SessionDetail {
  readonly sessionId: string;
  readonly name: string;
  readonly isNew: boolean;
}

/** A turn ended. */
export interface ResultDetail {
  readonly turn: string;
  readonly state: TurnState;
  /** How far the question is answered: "answered", "partly_answered", "not_answered", "not_examined", or "". */
  readonly status: string;
  /** Markdown, as the service sent it. */
  readonly answer: string;
}

/** The service refused a request or cannot be reached. `code` is the wire's error code, or "". */
export interface ErrorDetail {
  readonly code: string;
  readonly message: string;
}

/** The user wants an answer put into the document around the element. */
export interface InsertDetail {
  readonly turn: string;
  /** Markdown that is safe in any renderer. */
  readonly markdown: string;
}

export interface SvcChatEventMap {
  "svc-session": CustomEvent<SessionDetail>;
  "svc-result": CustomEvent<ResultDetail>;
  "svc-error": CustomEvent<ErrorDetail>;
  "svc-insert": CustomEvent<InsertDetail>;
}

declare global {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- the only way to merge these events in
  interface HTMLElementEventMap extends SvcChatEventMap {}
}
