// A `Channel` over a Jupyter comm.
import type { Kernel } from "@jupyterlab/services";
import type { JSONObject } from "@lumino/coreutils";
import type { Channel } from "@svc-jupyter/chat/src/channel.js";

const TARGET = "svc_jupyter";
const PATIENCE_MS = 2_000; // to wait for a subshell, which usually takes 0.1 s

export class CommChannel implements Channel {
  readonly #listeners: ((message: unknown, buffers: ArrayBuffer[]) => void)[] = [];
  readonly #comm: Kernel.IComm;
  #isClosed = false;

  /** `closed` is called once, when the kernel closes the comm. Requires that the kernel's info has been read. */
  constructor(
    private readonly kernel: Kernel.IKernelConnection,
    closed: () => void,
  ) {
    this.#comm = kernel.createComm(TARGET);
    this.#comm.onMsg = ({ content, buffers }) => {
      for (const listener of this.#listeners) listener(content.data, (buffers ?? []).map(asBuffer));
    };
    this.#comm.onClose = () => {
      if (!this.#isClosed) closed();
      this.#isClosed = true;
    };
  }

  /** Resolves when the kernel has accepted the comm, or refused it by closing it. */
  async open(): Promise<void> {
    await this.#subshell();
    await this.#comm.open().done;
  }

  /** If the kernel has subshells, JupyterLab starts one, which reads messages while a cell runs. */
  async #subshell(): Promise<void> {
    const { subshellStarted } = this.#comm as { subshellStarted?: Promise<void> };
    if (!this.kernel.supportsSubshells || !subshellStarted) return;
    const patience = new Promise<void>((resolve) => setTimeout(resolve, PATIENCE_MS));
    await Promise.race([subshellStarted, patience]).catch(() => undefined); // works without one, too
  }

  get isOpen(): boolean {
    return !this.#isClosed && !this.#comm.isDisposed;
  }

  send(message: object, buffers: ArrayBuffer[] = []): void {
    if (this.isOpen) this.#comm.send(message as JSONObject, undefined, buffers);
  }

  onMessage(listener: (message: unknown, buffers: ArrayBuffer[]) => void): void {
    this.#listeners.push(listener);
  }

  close(): void {
    const wasOpen = this.isOpen;
    this.#isClosed = true;
    if (wasOpen) this.#comm.close();
  }
}

function asBuffer(value: ArrayBuffer | ArrayBufferView): ArrayBuffer {
  if (value instanceof ArrayBuffer) return value;
  return value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength) as ArrayBuffer;
}
