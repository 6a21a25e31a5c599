// Makes untrusted text printable: control characters, escape sequences and direction overrides become visible marks.
// The same rule as in Python. Sources: ECMA-48, Unicode TR 36, CVE-2021-42574.

/* eslint-disable no-control-regex -- matches control characters on purpose */
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const INVISIBLE =
  /[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Cs}/gu;

/** Replaces characters that move the cursor, change the direction or are invisible; newline and tab stay. */
export function printable(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(CONTROL, picture).replace(INVISIBLE, mark);
}

/** One line of at most `limit` characters; an ellipsis marks a cut. */
export function oneLine(text: string, limit = 300): string {
  const line = printable(text.slice(0, limit * 20))
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= limit ? line : line.slice(0, limit - 1) + "…";
}

function picture(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "␡" : mark(character);
}

function mark(character: string): string {
  return "⟦U+" + (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0") + "⟧";
}
