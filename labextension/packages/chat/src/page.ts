// What the element needs of the page around it.

/** The origin of a script, or "". */
export function originOf(script: Element | SVGScriptElement | null): string {
  return script instanceof HTMLScriptElement && script.src ? new URL(script.src).origin : "";
}

/** Full screen is the top layer: a fixed position would be relative to a containing ancestor, as a notebook's cell is. */
export function showFullscreen(element: HTMLElement, isFullscreen: boolean): void {
  if (isFullscreen === (element.popover !== null)) return;
  element.popover = isFullscreen ? "manual" : null; // removing it leaves the top layer
  if (isFullscreen) element.showPopover();
}
