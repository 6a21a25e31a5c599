// The connection to one kernel: opens the channel, and opens it again after the kernel restarts. Has no user interface.
import type { Kernel } from "@jupyterlab/services";
import { Signal } from "@lumino/signaling";
import { REGISTER } from "./bootstrap.js";
import { CommChannel } from "./comm-channel.js";

export type Unavailability = "other-language" | "missing" | "old" | "folder" | "dead" | "failed";

export type LinkState =
  | { readonly kind: "off" }
  | { readonly kind: "connecting"; readonly isKernelBusy: boolean }
  | { readonly kind: "restarting" }
  | { readonly kind: "open"; readonly channel: CommChannel }
  | { readonly kind: "unavailable"; readonly reason: Unavailability; readonly text: string };

const SLOW_MS = 1_000; // without a reply: the kernel is running a cell

export class KernelLink {
  readonly changed = new Signal<this, LinkState>(this);
  readonly #disposed = () => {
    this.dispose();
  };
  #state: LinkState = { kind: "off" };
  #attempt = 0;

  constructor(readonly kernel: Kernel.IKernelConnection) {
    kernel.statusChanged.connect(this.#statusChanged, this);
    kernel.disposed.connect(this.#disposed);
  }

  get state(): LinkState {
    return this.#state;
  }

  /** Opens the channel unless it is open or being opened. */
  connect(): void {
    const { kind } = this.#state;
    if (kind === "off" || kind === "unavailable") void this.#open();
  }

  dispose(): void {
    this.#attempt += 1;
    this.kernel.statusChanged.disconnect(this.#statusChanged, this);
    if (this.#state.kind === "open") this.#state.channel.close();
    this.#setState({ kind: "off" });
    Signal.clearData(this);
  }

  async #open(): Promise<void> {
    const attempt = (this.#attempt += 1);
    const isCurrent = () => attempt === this.#attempt;
    this.#setState({ kind: "connecting", isKernelBusy: false });
    const slow = setTimeout(() => {
      if (isCurrent()) this.#setState({ kind: "connecting", isKernelBusy: true });
    }, SLOW_MS);
    try {
      const state = await this.#opened();
      if (isCurrent()) this.#setState(state);
      else if (state.kind === "open") state.channel.close();
    } catch (error) {
      if (isCurrent()) this.#setState(unavailable("failed", error instanceof Error ? error.message : String(error)));
    } finally {
      clearTimeout(slow);
    }
  }

  /** A busy kernel may accept a comm all the same, if a cell has loaded the extension before. */
  async #opened(): Promise<LinkState> {
    const { kernel } = this;
    const language = (await kernel.spec)?.language ?? "python";
    if (language.toLowerCase() !== "python") return unavailable("other-language", language);
    const registered = this.#register();
    const isSlow = await Promise.race([registered.then(() => false), after(SLOW_MS)]);
    const early = isSlow ? await this.#channel() : null;
    if (early?.isOpen) return { kind: "open", channel: early };
    const refused = await registered;
    if (refused) return refused;
    const channel = await this.#channel();
    return channel.isOpen ? { kind: "open", channel } : unavailable("failed", "the kernel closed the connection");
  }

  async #channel(): Promise<CommChannel> {
    await this.kernel.info;
    const channel: CommChannel = new CommChannel(this.kernel, () => {
      if (this.#state.kind === "open" && this.#state.channel === channel) void this.#open();
    });
    await channel.open();
    return channel;
  }

  async #register(): Promise<LinkState | null> {
    const future = this.kernel.requestExecute({
      code: "",
      silent: true,
      store_history: false,
      allow_stdin: false,
      user_expressions: { svc: REGISTER },
    });
    const { content } = await future.done;
    if (content.status !== "ok") return unavailable("failed", "");
    return refusal(content.user_expressions.svc);
  }

  #statusChanged(_: Kernel.IKernelConnection, status: Kernel.Status): void {
    const { kind } = this.#state;
    if (status === "restarting" || status === "autorestarting") {
      this.#attempt += 1;
      if (kind !== "off") this.#setState({ kind: "restarting" });
    } else if (status === "dead" || status === "terminating") {
      this.#attempt += 1;
      if (kind !== "off") this.#setState(unavailable("dead", ""));
    } else if (status === "idle" && kind === "restarting") {
      void this.#open();
    }
  }

  #setState(state: LinkState): void {
    this.#state = state;
    this.changed.emit(state);
  }
}

async function after(milliseconds: number): Promise<true> {
  return await new Promise((resolve) => setTimeout(() => resolve(true), milliseconds));
}

function unavailable(reason: Unavailability, text: string): LinkState {
  return { kind: "unavailable", reason, text };
}

/** The link state if the evaluated expression failed, or null. */
export function refusal(result: unknown): LinkState | null {
  const { status, ename, evalue } = (result ?? {}) as Partial<Record<string, string>>;
  if (status === "ok") return null;
  if (ename === "ModuleNotFoundError") {
    const isOld = evalue?.includes("comm_target") ?? false;
    if (isOld || evalue?.includes("svc_jupyter")) return unavailable(isOld ? "old" : "missing", evalue ?? "");
  }
  if (ename === "WorkingFolderError") return unavailable("folder", evalue ?? "");
  return unavailable("failed", [ename, evalue].filter(Boolean).join(": "));
}
