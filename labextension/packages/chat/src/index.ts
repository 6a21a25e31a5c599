// The package's public names, and the element itself: importing this defines `<svc-chat>`.
import { SvcChat } from "./element.js";

export { SvcChat } from "./element.js";
export { ENGLISH } from "./strings.js";
export type { Strings } from "./strings.js";
export type {
  ChatFile,
  ChatMessage,
  ChatSession,
  ChatUser,
  Connection,
  Listener,
  OpenedSession,
  SessionRequest,
  Transport,
  UploadOptions,
} from "./transport.js";

// Two bundles may be on one page, and a server has no elements at all.
if (typeof customElements !== "undefined" && !customElements.get("svc-chat"))
  customElements.define("svc-chat", SvcChat);
