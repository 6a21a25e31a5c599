/**
 * TypeScript SDK for conversational security analysis. Start with `Svc`.
 *
 *     const svc = await Svc.create(apiKey, baseUrl);
 *     const session = await svc.createSession({ name: "triage" });
 *     const streamer = await session.streamer(console.log, (result) => show(result.content));
 *     await streamer.send("Score CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H");
 *
 * These are the public names; other modules may change without notice.
 */
export { Svc, Svc as default, type CreateSessionOptions, type ResumeOptions } from "./client.js";
export { DEFAULT_BASE_URL, DEFAULT_WS_URL } from "./config.js";
export * from "./errors.js";
export {
  AnswerStatus,
  DEFAULT_TTL,
  endsTurn,
  FeedbackType,
  getContent,
  MAX_TTL,
  type Message,
  MessageType,
  MessageTypeEnum,
  MimeType,
  MimeTypeEnum,
  MIN_TTL,
  type ModelInfo,
  type ModelInfoInput,
  type ToolsetChoice,
  Role,
  ROOT_ID,
  type Session,
  type SessionFile,
  State,
  type Toolset,
  type Usage,
  type User,
  type UserInfo,
  UserType,
  type Vendor,
} from "./messages.js";
export type { UploadProgress } from "./platform.js";
export { Proofs, UnprovenError } from "./proof.js";
export { type AttachOptions, type FileContent, InteractiveSession, type SessionChanges } from "./session.js";
export { type SendOptions, Streamer, type StreamerOptions, type StreamState } from "./streamer.js";
export type { AbortOptions } from "./transport.js";
