// Files dragged onto the element. The drop zone is shown while a file is dragged anywhere over the page.
import { filesOf } from "./composer.js";

const DRAG_MS = 700; // without `dragover`, which comes at least every 350 ms, the drag has ended
const PAGE_EVENTS = ["dragover", "drop"] as const;

export class DropZone {
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `changed` is called when the zone appears or disappears. */
  constructor(
    element: HTMLElement & { attach(files: readonly File[]): void },
    private readonly canAttach: () => boolean,
    private readonly changed: () => void,
  ) {
    element.addEventListener("dragover", (event) => {
      if (canAttach() && hasFiles(event)) event.preventDefault();
    });
    element.addEventListener("drop", (event) => {
      const files = filesOf(event.dataTransfer);
      if (!canAttach() || files.length === 0) return;
      event.preventDefault();
      element.attach(files);
    });
  }

  get isVisible(): boolean {
    return this.#timer !== undefined && this.canAttach();
  }

  connect(): void {
    for (const name of PAGE_EVENTS) addEventListener(name, this.#onPageDrag, true);
  }

  disconnect(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const name of PAGE_EVENTS) removeEventListener(name, this.#onPageDrag, true);
  }

  #onPageDrag = (event: DragEvent): void => {
    if (!hasFiles(event)) return;
    clearTimeout(this.#timer);
    this.#timer = event.type === "dragover" ? setTimeout(this.#hide, DRAG_MS) : undefined;
    this.changed();
  };

  #hide = (): void => {
    this.#timer = undefined;
    this.changed();
  };
}

function hasFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer?.types.includes("Files") ?? false;
}
