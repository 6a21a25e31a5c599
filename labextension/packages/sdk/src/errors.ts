/**
 * Every error of the SDK. Source: docs/wire.md, "Errors".
 *
 *     SvcError
 *     ├── ConfigError                     an address or key cannot be used; nothing was sent
 *     ├── UnreachableError                the service did not answer, after every retry
 *     ├── ProtocolError                   the service sent something the protocol does not allow
 *     └── ServiceError                    the service refused or failed; has a `code`
 *         ├── InvalidRequestError         400  a field is invalid; `param` names it
 *         │   └── StreamUnsupportedError  400
 *         ├── InvalidApiKeyError          401
 *         ├── ExperimentalNotAllowedError 403
 *         ├── SessionNotFoundError        404
 *         ├── ModelNotFoundError          404
 *         ├── AddressNotFoundError        404
 *         ├── SessionFileNotFoundError    404
 *         ├── MethodNotAllowedError       405
 *         ├── HistoryLostError            409
 *         ├── TurnInProgressError         409
 *         ├── SessionIdTakenError         409
 *         ├── SessionExpiredError         410
 *         ├── TooLargeError               413
 *         ├── RateLimitedError            429  `retryAfter` in seconds
 *         ├── TurnCancelledError          499
 *         ├── InternalServiceError        500
 *         ├── UpstreamError               502
 *         ├── UnavailableError            503  `retryAfter` in seconds
 *         ├── QuotaExceededError          507
 *         └── InsufficientStorageError    507
 *
 * A call ended by an AbortSignal rejects with the signal's reason, which is none of these.
 */

/** Base class of the errors that the SDK throws. The message says what happened and what to do. */
export class SvcError extends Error {
  override name = "SvcError"; // a literal in every class: a minifier changes class names
}

/** An address or a key cannot be used; nothing was sent. */
export class ConfigError extends SvcError {
  override name = "ConfigError";
}

/** The service did not answer, after every retry. The message names its address. */
export class UnreachableError extends SvcError {
  override name = "UnreachableError";
}

/** The service sent something the protocol does not allow: its version differs too much, or it is another service. */
export class ProtocolError extends SvcError {
  override name = "ProtocolError";
}

/** The fields of a service error. `retryAfter` is in seconds. */
export interface ServiceErrorDetails {
  status?: number;
  code?: string;
  param?: string | null;
  retryAfter?: number | null;
}

/** The service refused or failed. A newer service's unknown codes become this class itself. */
export class ServiceError extends SvcError {
  override name = "ServiceError";
  static readonly defaultStatus: number = 500;
  static readonly defaultCode: string = "internal_error";
  /** The HTTP status. */
  readonly status: number;
  /** The wire's error code, such as `rate_limited`. */
  readonly code: string;
  /** The invalid field, or null. */
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

/** A field of the request is invalid; `param` names it. */
export class InvalidRequestError extends ServiceError {
  override name = "InvalidRequestError";
  static override readonly defaultStatus: number = 400;
  static override readonly defaultCode: string = "invalid_request";
}

/** `stream: true` was sent to /chat/completions. */
export class StreamUnsupportedError extends InvalidRequestError {
  override name = "StreamUnsupportedError";
  static override readonly defaultCode = "stream_unsupported";
}

/** The key is missing, malformed, unknown, revoked or expired; the service does not say which. */
export class InvalidApiKeyError extends ServiceError {
  override name = "InvalidApiKeyError";
  static override readonly defaultStatus = 401;
  static override readonly defaultCode = "invalid_api_key";
}

/** The key may not use experimental models. */
export class ExperimentalNotAllowedError extends ServiceError {
  override name = "ExperimentalNotAllowedError";
  static override readonly defaultStatus = 403;
  static override readonly defaultCode = "experimental_not_allowed";
}

/** No such session, or it belongs to another user. */
export class SessionNotFoundError extends ServiceError {
  override name = "SessionNotFoundError";
  static override readonly defaultStatus = 404;
  static override readonly defaultCode = "session_not_found";
}

/** No such model; the message lists the available ones. */
export class ModelNotFoundError extends ServiceError {
  override name = "ModelNotFoundError";
  static override readonly defaultStatus = 404;
  static override readonly defaultCode = "model_not_found";
}

/** Unknown endpoint: the base URL is not a svc service, or an older one. */
export class AddressNotFoundError extends ServiceError {
  override name = "AddressNotFoundError";
  static override readonly defaultStatus = 404;
  static override readonly defaultCode = "not_found";
}

/** The stream was to begin after a message that the session does not have; the SDK reads the session again. */
export class HistoryLostError extends ServiceError {
  override name = "HistoryLostError";
  static override readonly defaultStatus = 409;
  static override readonly defaultCode = "history_lost";
}

/** No such file in the session. */
export class SessionFileNotFoundError extends ServiceError {
  override name = "SessionFileNotFoundError";
  static override readonly defaultStatus = 404;
  static override readonly defaultCode = "file_not_found";
}

/** The endpoint exists, but not for this HTTP method. */
export class MethodNotAllowedError extends ServiceError {
  override name = "MethodNotAllowedError";
  static override readonly defaultStatus = 405;
  static override readonly defaultCode = "method_not_allowed";
}

/** A turn of the session is already running. */
export class TurnInProgressError extends ServiceError {
  override name = "TurnInProgressError";
  static override readonly defaultStatus = 409;
  static override readonly defaultCode = "turn_in_progress";
}

/** Another user has a session with that ID. */
export class SessionIdTakenError extends ServiceError {
  override name = "SessionIdTakenError";
  static override readonly defaultStatus = 409;
  static override readonly defaultCode = "session_id_taken";
}

/** The session has expired; the message says when. */
export class SessionExpiredError extends ServiceError {
  override name = "SessionExpiredError";
  static override readonly defaultStatus = 410;
  static override readonly defaultCode = "session_expired";
}

/** A body, message, file or number of files exceeds its limit; the message gives both figures. */
export class TooLargeError extends ServiceError {
  override name = "TooLargeError";
  static override readonly defaultStatus = 413;
  static override readonly defaultCode = "too_large";
}

/** The key uses too much at once or within a time; retry after `retryAfter` seconds. */
export class RateLimitedError extends ServiceError {
  override name = "RateLimitedError";
  static override readonly defaultStatus = 429;
  static override readonly defaultCode = "rate_limited";
}

/** The turn was cancelled, by this client or another client of the session. */
export class TurnCancelledError extends ServiceError {
  override name = "TurnCancelledError";
  static override readonly defaultStatus = 499;
  static override readonly defaultCode = "cancelled";
}

/** An internal error; the message contains an ID to look up in the service's log. */
export class InternalServiceError extends ServiceError {
  override name = "InternalServiceError";
}

/** The model behind the service failed; the message says how. */
export class UpstreamError extends ServiceError {
  override name = "UpstreamError";
  static override readonly defaultStatus = 502;
  static override readonly defaultCode = "upstream_error";
}

/** The service is shutting down, or cannot reach its store; retry after `retryAfter` seconds. */
export class UnavailableError extends ServiceError {
  override name = "UnavailableError";
  static override readonly defaultStatus = 503;
  static override readonly defaultCode = "unavailable";
}

/** The user keeps too many sessions or bytes; the message says how many, and what to delete. */
export class QuotaExceededError extends ServiceError {
  override name = "QuotaExceededError";
  static override readonly defaultStatus = 507;
  static override readonly defaultCode = "quota_exceeded";
}

/** The service cannot store anything, because its disk is full; ask again once space is free. */
export class InsufficientStorageError extends ServiceError {
  override name = "InsufficientStorageError";
  static override readonly defaultStatus = 507;
  static override readonly defaultCode = "insufficient_storage";
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
    HistoryLostError,
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
    QuotaExceededError,
    InsufficientStorageError,
  ].map((cls) => [cls.defaultCode, cls]),
);

/** Every error code of the wire. */
export const CODES: readonly string[] = [...CLASSES.keys()];

/** The error for a code of the wire; an unknown code gives a plain `ServiceError`. */
export function serviceError(code: string, message: string, details: Omit<ServiceErrorDetails, "code">): ServiceError {
  return new (CLASSES.get(code) ?? ServiceError)(message, { ...details, code });
}
