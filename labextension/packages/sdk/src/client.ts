/** `Svc`, the client of one service: it creates, resumes and lists sessions. */
import { PLATFORM } from "#platform";

import { type ConnectionOptions, resolve } from "./config.js";
import { InvalidRequestError } from "./errors.js";
import {
  DEFAULT_TTL,
  type Message,
  type ModelInfoInput,
  requestedModel,
  newId,
  type Session,
  type User,
  type UserInfo,
} from "./messages.js";
import * as requests from "./requests.js";
import { InteractiveSession } from "./session.js";
import { Transport, type AbortOptions } from "./transport.js";

export interface CreateSessionOptions extends AbortOptions {
  /** Lifetime of the session, in seconds. Default: `DEFAULT_TTL`, a day. */
  ttl?: number | undefined;
  /** Default: a name that the service makes up. */
  name?: string | undefined;
  description?: string | undefined;
  /** False asks the service to keep nothing on disk, if the key allows that. Default: true. */
  logSession?: boolean | undefined;
  /** `stable`, `experimental`, a model ID, or a model as an object. */
  model?: string | ModelInfoInput | undefined;
  /** Language of the answers, as a BCP 47 tag. Default: `en`. */
  language?: string | undefined;
}

export interface ResumeOptions extends AbortOptions {
  /** Called once with the session's messages, oldest first: resuming reads them anyway. */
  onhistory?: ((messages: Message[]) => void) | undefined;
}

/** A client of one service, with one API key. */
export class Svc {
  static #latest: Svc | null = null;
  readonly #transport: Transport;

  private constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Connect to the service at `baseUrl`, by default the one on this machine; `wsUrl` defaults to `baseUrl`'s.
   * In Node, omitted arguments are read from `SVC_API_KEY`, `SVC_BASE_URL` and `SVC_WS_URL`.
   *
   * Resolves when the service has confirmed the key. Rejects with ConfigError (the key or an address cannot be used),
   * InvalidApiKeyError or UnreachableError.
   */
  static async create(apiKey?: string, baseUrl?: string, wsUrl?: string, options: AbortOptions = {}): Promise<Svc> {
    const client = new Svc(new Transport(resolve({ apiKey, baseUrl, wsUrl }, PLATFORM.environ())));
    await client.getUserInfo(options);
    Svc.#latest = client;
    return client;
  }

  /** Like the method; uses the client created last if neither a key nor an address is given. */
  static async resumeSession(
    sessionId: string,
    options: ConnectionOptions & ResumeOptions = {},
  ): Promise<InteractiveSession> {
    const { apiKey, baseUrl, wsUrl } = options;
    const isConfigured = Boolean(apiKey ?? baseUrl ?? wsUrl);
    const latest = isConfigured ? null : Svc.#latest;
    const client = latest ?? new Svc(new Transport(resolve({ apiKey, baseUrl, wsUrl }, PLATFORM.environ())));
    return client.resumeSession(sessionId, options);
  }

  get baseUrl(): string {
    return this.#transport.config.baseUrl;
  }

  get wsUrl(): string {
    return this.#transport.config.wsUrl;
  }

  /** Create a session: by default it lasts a day, is logged, and is answered in English. */
  async createSession(options: CreateSessionOptions = {}): Promise<InteractiveSession> {
    const { ttl = DEFAULT_TTL, name, description, logSession = true, model, language = "en" } = options;
    const call = requests.register({
      id: newId(), // made here, so that a repeated request creates the same session
      ttl,
      language,
      can_log: logSession,
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
      ...(model !== undefined && { model: requestedModel(model) }),
    });
    return new InteractiveSession(this.#transport, await this.#transport.call(call, options));
  }

  /** Resume an existing session. Rejects with SessionNotFoundError or SessionExpiredError. */
  async resumeSession(sessionId: string, options: ResumeOptions = {}): Promise<InteractiveSession> {
    if (!sessionId) {
      throw new InvalidRequestError("sessionId is empty. Pass the sessionId of a session.", { param: "session_id" });
    }
    const session = await this.#transport.call(requests.getSession(sessionId), options);
    options.onhistory?.(session.messages);
    return new InteractiveSession(this.#transport, session);
  }

  /**
   * The key's live sessions, oldest first, without their messages. Continue one with `resumeSession(s.id)`.
   *
   * Many sessions are read in pages of `limit`: the next page is `after` the ID of the last session.
   */
  listSessions({ limit, after, ...options }: requests.SessionPage & AbortOptions = {}): Promise<Session[]> {
    return this.#transport.call(requests.listSessions({ limit, after }), options);
  }

  /** The key's user and permissions, its live sessions, and the models (the stable one first). */
  getUserInfo(options: AbortOptions = {}): Promise<UserInfo> {
    return this.#transport.call(requests.userInfo(), options);
  }

  /** The key's user: `email` and permissions. */
  async getUser(options: AbortOptions = {}): Promise<User> {
    return (await this.getUserInfo(options)).user;
  }
}
