// Makes hidden characters in untrusted text visible: control characters, direction overrides, zero-width characters and
// tags. The same rule as in Python
// (svc/untrusted/characters.py); both read tests/wire/character_cases.json. Sources: Unicode 16
// (Default_Ignorable_Code_Point), UAX 9 and CVE-2021-42574, UTS 51.

/* eslint-disable no-control-regex, no-misleading-character-class -- matches hidden characters on purpose */
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const EMOJI = "\\u00a9\\u00ae\\u203c-\\u3299\\u{1f000}-\\u{1faff}";
const HIDDEN = new RegExp(
  "[\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200c\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f" +
    "\\u3164\\ufe00-\\ufe0e\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}" +
    "\\u{e0000}-\\u{e0fff}]|\\p{Cs}" +
    `|(?<![${EMOJI}\\ufe0f])\\u200d|\\u200d(?![${EMOJI}])|(?<![${EMOJI}#*0-9])\\ufe0f`,
  "gu",
);

/** Replaces hidden characters by visible marks; newline and tab stay. */
export function printable(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(CONTROL, picture).replace(HIDDEN, mark);
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
