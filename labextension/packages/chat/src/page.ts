// What the element needs of the page around it.

/** The origin of a script, or "". */
export function originOf(script: Element | SVGScriptElement | null): string {
  const { src } = (script ?? {}) as Partial<HTMLScriptElement>; // a server has no class to compare with
  return src ? new URL(src).origin : "";
}

let query: MediaQueryList | undefined;

/** Whether the page is being printed. */
function paper(): MediaQueryList {
  return (query ??= matchMedia("print"));
}

/** Full screen, which Escape leaves wherever the focus is. */
export class FullScreen {
  /** `isFull` is what the element wants; `leave` is called on Escape. */
  constructor(
    private readonly element: HTMLElement,
    private readonly isFull: () => boolean,
    private readonly leave: () => void,
  ) {}

  connect(): void {
    addEventListener("keydown", this.#onKey);
    paper().addEventListener("change", this.show);
  }

  disconnect(): void {
    removeEventListener("keydown", this.#onKey);
    paper().removeEventListener("change", this.show);
  }

  /**
   * Full screen is the top layer: a fixed position would be relative to a containing ancestor, as a notebook's cell is.
   * On paper it is not: there, the top layer is one page that covers the others. A launcher's dialog is there already.
   */
  show = (): void => {
    const { element } = this;
    if (!element.isConnected) return;
    const isOnTop = this.isFull() && !paper().matches && !element.shadowRoot?.querySelector("dialog");
    if (isOnTop === element.matches(":popover-open")) return; // one that was moved has left the top layer
    element.popover = isOnTop ? "manual" : null; // removing it leaves the top layer
    if (isOnTop) element.showPopover();
  };

  #onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || event.isComposing || event.defaultPrevented || !this.isFull()) return;
    event.preventDefault(); // a dialog around it stays
    event.stopPropagation();
    this.leave();
  };
}
