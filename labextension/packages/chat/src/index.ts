// The package's public names. Importing this module defines `<svc-chat>`.
import { SvcChat } from "./element.js";

export { SvcChat } from "./element.js";
export type { ErrorDetail, InsertDetail, ResultDetail, SessionDetail } from "./events.js";
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

// A page may load two bundles, and a server has no custom elements.
if (typeof customElements !== "undefined" && !customElements.get("svc-chat"))
  customElements.define("svc-chat", SvcChat);
