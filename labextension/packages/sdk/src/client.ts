/** `Svc`: the door to a service, and the sessions made through it. */
import { PLATFORM } from "#platform";

import { type Given, resolve } from "./config.js";
import { InvalidRequestError } from "./errors.js";
import {
  DEFAULT_TTL,
  type Message,
  type ModelInfoInput,
  modelString,
  newId,
  type Session,
  type User,
  type UserInfo,
} from "./messages.js";
import * as requests from "./requests.js";
import { InteractiveSession } from "./session.js";
import { Transport, type Waiting } from "./transport.js";

export interface CreateSessionOptions extends Waiting {
  /** Seconds that it lives. */
  ttl?: number | undefined;
  /** The service makes one up where it is left out. */
  name?: string | undefined;
  description?: string | undefined;
  /** False asks the service to keep nothing on disk, where the key leaves the choice. */
  logSession?: boolean | undefined;
  /** `stable`, `experimental`, a model's id, or a model as an object. */
  model?: string | ModelInfoInput | undefined;
  /** A BCP 47 tag. */
  language?: string | undefined;
}

export interface ResumeOptions extends Waiting {
  /** Called once with the messages that the session has, oldest first: they are read anyway. */
  onhistory?: ((messages: Message[]) => void) | undefined;
}

/** A service and a key that it knows. */
export class Svc {
  static #latest: Svc | null = null;
  readonly #transport: Transport;

  private constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * The service at `baseUrl`, by default the one of this machine; `wsUrl` follows from `baseUrl` where it is left out.
   * In Node, `SVC_API_KEY`, `SVC_BASE_URL` and `SVC_WS_URL` stand for what is not given.
   *
   * Resolves when the service has confirmed the key. Rejects with ConfigError where these cannot be used,
   * InvalidApiKeyError, UnreachableError.
   */
  static async create(apiKey?: string, baseUrl?: string, wsUrl?: string, waiting: Waiting = {}): Promise<Svc> {
    const client = new Svc(new Transport(resolve({ apiKey, baseUrl, wsUrl }, PLATFORM.environ())));
    await client.getUserInfo(waiting);
    Svc.#latest = client;
    return client;
  }

  /** As the method, by the client that was made last where no key and no address is given. */
  static async resumeSession(sessionId: string, given: Given & ResumeOptions = {}): Promise<InteractiveSession> {
    const { apiKey, baseUrl, wsUrl } = given;
    const isGiven = Boolean(apiKey ?? baseUrl ?? wsUrl);
    const latest = isGiven ? null : Svc.#latest;
    const client = latest ?? new Svc(new Transport(resolve({ apiKey, baseUrl, wsUrl }, PLATFORM.environ())));
    return client.resumeSession(sessionId, given);
  }

  get baseUrl(): string {
    return this.#transport.config.baseUrl;
  }

  get wsUrl(): string {
    return this.#transport.config.wsUrl;
  }

  /** A new session. A day long, logged and in English where nothing else is said. */
  async createSession(options: CreateSessionOptions = {}): Promise<InteractiveSession> {
    const { ttl = DEFAULT_TTL, name, description, logSession = true, model, language = "en" } = options;
    const call = requests.register({
      id: newId(), // our own, so that a repeated request is the same session
      ttl,
      language,
      can_log: logSession,
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
      ...(model !== undefined && { model: typeof model === "string" ? model : modelString(model) }),
    });
    return new InteractiveSession(this.#transport, await this.#transport.call(call, options));
  }

  /** A session made before. Rejects with SessionNotFoundError or SessionExpiredError. */
  async resumeSession(sessionId: string, options: ResumeOptions = {}): Promise<InteractiveSession> {
    if (!sessionId) {
      throw new InvalidRequestError("sessionId is empty. A session's id is its sessionId.", { param: "session_id" });
    }
    const session = await this.#transport.call(requests.getSession(sessionId), options);
    options.onhistory?.(session.messages);
    return new InteractiveSession(this.#transport, session);
  }

  /** The key's live sessions, oldest first, without their messages; `resumeSession(s.id)` goes on with one. */
  listSessions(waiting: Waiting = {}): Promise<Session[]> {
    return this.#transport.call(requests.listSessions(), waiting);
  }

  /** Whom the key belongs to and what it may do, its live sessions, and the models, the stable one first. */
  getUserInfo(waiting: Waiting = {}): Promise<UserInfo> {
    return this.#transport.call(requests.userInfo(), waiting);
  }

  /** Whom the key belongs to: `email`, and what it may do. */
  async getUser(waiting: Waiting = {}): Promise<User> {
    return (await this.getUserInfo(waiting)).user;
  }
}
