// The kernels in which the user ran a cell, or to which the user connected the chat. Remembered by the browser's tab, so
// that a reloaded page connects again.

const KEY = "svc-jupyterlab:used-kernels";
const LIMIT = 200; // of a tab; kernels come and go

export class UsedKernels {
  readonly #ids: Set<string>;

  constructor(private readonly storage: Pick<Storage, "getItem" | "setItem"> = sessionStorage) {
    this.#ids = new Set(read(storage));
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    try {
      this.storage.setItem(KEY, JSON.stringify([...this.#ids].slice(-LIMIT)));
    } catch {
      // the storage is full or blocked: after a reload the user connects again
    }
  }
}

function read(storage: Pick<Storage, "getItem">): string[] {
  try {
    const ids: unknown = JSON.parse(storage.getItem(KEY) ?? "[]");
    return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
}
