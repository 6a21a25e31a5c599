// What the element needs of the page around it.

/** The origin of a script, or "". */
export function originOf(script: Element | SVGScriptElement | null): string {
  return script instanceof HTMLScriptElement && script.src ? new URL(script.src).origin : "";
}

let query: MediaQueryList | undefined;

/** Whether the page is being printed. */
export function paper(): MediaQueryList {
  return (query ??= matchMedia("print"));
}

/**
 * Full screen is the top layer: a fixed position would be relative to a containing ancestor, as a notebook's cell is.
 * On paper it is not: there, the top layer is one page that covers the others.
 */
export function showFullscreen(element: HTMLElement, isFullscreen: boolean): void {
  const isOnTop = isFullscreen && !paper().matches;
  if (isOnTop === (element.popover !== null)) return;
  element.popover = isOnTop ? "manual" : null; // removing it leaves the top layer
  if (isOnTop) element.showPopover();
}
