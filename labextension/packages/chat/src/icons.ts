// The element's icons, drawn for this project on a 16 × 16 grid.
import { svg } from "lit/html.js";
import type { TemplateResult } from "lit/html.js";

const PATHS = {
  send: "M8 13V3M3.5 7.5 8 3l4.5 4.5",
  stop: "M4.5 4.5h7v7h-7z",
  attach: "M13 7.5 8 12.5a3 3 0 0 1-4.3-4.3l5.4-5.3a2 2 0 0 1 2.8 2.8L6.6 11a1 1 0 0 1-1.4-1.4L9.7 5",
  plus: "M8 3v10M3 8h10",
  expand: "M9.5 3H13v3.5M6.5 13H3V9.5M13 3 9 7M3 13l4-4",
  shrink: "M13 6.5H9.5V3M3 9.5h3.5V13M9.5 6.5 13 3M6.5 9.5 3 13",
  close: "M4 4l8 8M12 4l-8 8",
  down: "M4 6l4 4 4-4",
  copy: "M6 6h7v7H6zM3 10V3h7",
  insert: "M3 3h10M3 6h10M8 8v5M5.5 10.5 8 13l2.5-2.5",
  retry: "M13 8a5 5 0 1 1-1.5-3.5M13 2.5v3h-3",
  edit: "M3 13l.7-3L10.5 3.2a1.2 1.2 0 0 1 2.3 2.3L6 12.3z",
  good: "M5 7.5v6H3v-6zM5 7.5 7.5 2c1.2 0 1.8.9 1.5 2l-.5 2.2h3.3c.9 0 1.5.8 1.3 1.7l-1 4.3c-.2.8-.8 1.3-1.6 1.3H5",
  bad: "M5 8.5v-6H3v6zM5 8.5 7.5 14c1.2 0 1.8-.9 1.5-2l-.5-2.2h3.3c.9 0 1.5-.8 1.3-1.7l-1-4.3c-.2-.8-.8-1.3-1.6-1.3H5",
  chat: "M2.5 3.5h11v8H8L4.5 14v-2.5h-2zM5.5 6.5h5M5.5 8.5h3",
} as const;

export type Icon = keyof typeof PATHS;

export function icon(name: Icon): TemplateResult {
  return svg`<svg viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d=${PATHS[name]}></path></svg>`;
}
