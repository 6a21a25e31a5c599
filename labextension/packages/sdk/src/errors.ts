/**
 * Every error of the SDK. Facts: docs/wire.md, "Errors".
 *
 *     SvcError
 *     ├── ConfigError                     an address or key that cannot be used; nothing was sent
 *     ├── UnreachableError                no answer from the service, after every retry
 *     ├── ProtocolError                   the service sent what the wire does not allow
 *     └── ServiceError                    the service refused or failed; carries the wire's code
 *         ├── InvalidRequestError         400  a field breaks a rule; `param` names it
 *         │   └── StreamUnsupportedError  400
 *         ├── InvalidApiKeyError          401
 *         ├── ExperimentalNotAllowedError 403
 *         ├── SessionNotFoundError        404
 *         ├── ModelNotFoundError          404
 *         ├── AddressNotFoundError        404
 *         ├── SessionFileNotFoundError    404
 *         ├── MethodNotAllowedError       405
 *         ├── TurnInProgressError         409
 *         ├── SessionIdTakenError         409
 *         ├── SessionExpiredError         410
 *         ├── TooLargeError               413
 *         ├── RateLimitedError            429  `retryAfter` in seconds
 *         ├── TurnCancelledError          499
 *         ├── InternalServiceError        500
 *         ├── UpstreamError               502
 *         └── UnavailableError            503  `retryAfter` in seconds
 *
 * What an AbortSignal ends rejects with the signal's own reason, which is none of these.
 */

/** Anything that the SDK throws on purpose; its text says what happened and what to do. */
export class SvcError extends Error {
  override name = "SvcError"; // written out in every class, for minified bundles
}

/** An address or a key cannot be used; nothing was sent. */
export class ConfigError extends SvcError {
  override name = "ConfigError";
}

/** The service did not answer, after every retry; the text names its address. */
export class UnreachableError extends SvcError {
  override name = "UnreachableError";
}

/** The service sent something that the wire does not allow: versions too far apart, or no svc service. */
export class ProtocolError extends SvcError {
  override name = "ProtocolError";
}

/** What an error of the wire carries beside its code and text. `retryAfter` is in seconds. */
export interface ServiceErrorDetails {
  status?: number;
  code?: string;
  param?: string | null;
  retryAfter?: number | null;
}

/** The service refused or failed. Unknown codes of a newer service come as this class itself. */
export class ServiceError extends SvcError {
  override name = "ServiceError";
  static readonly defaultStatus: number = 500;
  static readonly defaultCode: string = "internal_error";
  /** The HTTP number. */
  readonly status: number;
  /** The wire's word. */
  readonly code: string;
  /** The field at fault, or null. */
  readonly param: string | null;
  /** The seconds that the service asks to wait, or null. */
  readonly retryAfter: number | null;

  constructor(message: string, details: ServiceErrorDetails = {}) {
    super(message);
    this.status = details.status ?? new.target.defaultStatus;
    this.code = details.code ?? new.target.defaultCode;
    this.param = details.param ?? null;
    this.retryAfter = details.retryAfter ?? null;
  }
}

/** A field breaks a rule of the wire; `param` names it. */
export class InvalidRequestError extends ServiceError {
  override name = "InvalidRequestError";
  static override readonly defaultStatus: number = 400;
  static override readonly defaultCode: string = "invalid_request";
}

/** `stream: true` on /chat/completions. */
export class StreamUnsupportedError extends InvalidRequestError {
  override name = "StreamUnsupportedError";
  static override readonly defaultCode = "stream_unsupported";
}

/** Missing, malformed, unknown, revoked or expired key: one answer for all five. */
export class InvalidApiKeyError extends ServiceError {
  override name = "InvalidApiKeyError";
  static override readonly defaultStatus = 401;
  static override readonly defaultCode = "invalid_api_key";
}

/** An experimental model with a key that may not use it. */
export class ExperimentalNotAllowedError extends ServiceError {
  override name = "ExperimentalNotAllowedError";
  static override readonly defaultStatus = 403;
  static override readonly defaultCode = "experimental_not_allowed";
}

/** No such session, or another user's. */
export class SessionNotFoundError extends ServiceError {
  override name = "SessionNotFoundError";
  static override readonly defaultStatus = 404;
  static override readonly defaultCode = "session_not_found";
}

/** A model that the service does not have; the text lists those it has. */
export class ModelNotFoundError extends ServiceError {
  override name = "ModelNotFoundError";
  static override readonly defaultStatus = 404;
  static override readonly defaultCode = "model_not_found";
}

/** An address that the service does not have: the base URL is another server's, or an older service's. */
export class AddressNotFoundError extends ServiceError {
  override name = "AddressNotFoundError";
  static override readonly defaultStatus = 404;
  static override readonly defaultCode = "not_found";
}

/** An index outside the session's files. */
export class SessionFileNotFoundError extends ServiceError {
  override name = "SessionFileNotFoundError";
  static override readonly defaultStatus = 404;
  static override readonly defaultCode = "file_not_found";
}

/** The address exists, with another HTTP method. */
export class MethodNotAllowedError extends ServiceError {
  override name = "MethodNotAllowedError";
  static override readonly defaultStatus = 405;
  static override readonly defaultCode = "method_not_allowed";
}

/** A second query while a turn of the session runs. */
export class TurnInProgressError extends ServiceError {
  override name = "TurnInProgressError";
  static override readonly defaultStatus = 409;
  static override readonly defaultCode = "turn_in_progress";
}

/** Another user has a session of that id. */
export class SessionIdTakenError extends ServiceError {
  override name = "SessionIdTakenError";
  static override readonly defaultStatus = 409;
  static override readonly defaultCode = "session_id_taken";
}

/** The session's time is over; the text says since when. */
export class SessionExpiredError extends ServiceError {
  override name = "SessionExpiredError";
  static override readonly defaultStatus = 410;
  static override readonly defaultCode = "session_expired";
}

/** Body, message, file or number of files over its limit; the text gives both figures. */
export class TooLargeError extends ServiceError {
  override name = "TooLargeError";
  static override readonly defaultStatus = 413;
  static override readonly defaultCode = "too_large";
}

/** Over the key's requests or tokens per minute; `retryAfter` in seconds. */
export class RateLimitedError extends ServiceError {
  override name = "RateLimitedError";
  static override readonly defaultStatus = 429;
  static override readonly defaultCode = "rate_limited";
}

/** The turn was cancelled, by this client or another reader of the session. */
export class TurnCancelledError extends ServiceError {
  override name = "TurnCancelledError";
  static override readonly defaultStatus = 499;
  static override readonly defaultCode = "cancelled";
}

/** A fault of the service; the text carries an id that stands in the service's log. */
export class InternalServiceError extends ServiceError {
  override name = "InternalServiceError";
}

/** The model behind the service failed; the text says how. */
export class UpstreamError extends ServiceError {
  override name = "UpstreamError";
  static override readonly defaultStatus = 502;
  static override readonly defaultCode = "upstream_error";
}

/** The service is shutting down, or its store is out of reach; `retryAfter` in seconds. */
export class UnavailableError extends ServiceError {
  override name = "UnavailableError";
  static override readonly defaultStatus = 503;
  static override readonly defaultCode = "unavailable";
}

const CLASSES = new Map<string, typeof ServiceError>(
  [
    InvalidRequestError,
    StreamUnsupportedError,
    InvalidApiKeyError,
    ExperimentalNotAllowedError,
    SessionNotFoundError,
    ModelNotFoundError,
    AddressNotFoundError,
    SessionFileNotFoundError,
    MethodNotAllowedError,
    TurnInProgressError,
    SessionIdTakenError,
    SessionExpiredError,
    TooLargeError,
    RateLimitedError,
    TurnCancelledError,
    InternalServiceError,
    UpstreamError,
    UnavailableError,
  ].map((cls) => [cls.defaultCode, cls]),
);

/** Every error code: docs/wire.md, "Errors". */
export const CODES: readonly string[] = [...CLASSES.keys()];

/** The error for one of the wire; a code that is not known gives a plain `ServiceError`. */
export function serviceError(code: string, message: string, details: Omit<ServiceErrorDetails, "code">): ServiceError {
  return new (CLASSES.get(code) ?? ServiceError)(message, { ...details, code });
}
