/** How text and bytes are encoded on the wire. */
import { expect, test } from "vitest";

import { decodeBase64, isTextFormat, wellFormed } from "../src/content.js";
import { endsTurn, getContent, type Message, MessageType, newMessage } from "../src/messages.js";
import { ProtocolError } from "../src/errors.js";

test.each([
  ["", []],
  ["AQID", [1, 2, 3]],
  ["AQI=", [1, 2]],
  ["AQ==", [1]],
  ["AQ\r\nID\n", [1, 2, 3]],
  ["+/+/", [251, 255, 191]],
])("base64 %j is decoded", (text, bytes) => {
  expect([...(decodeBase64(text) ?? [])]).toEqual(bytes);
});

test.each(["A", "AQ", "AQI", "AQ=", "A===", "====", "AQ==AQ==", "-_-_", "päßt", "data:image/png;base64,AQID", "A=ID"])(
  "invalid base64 is rejected: %j",
  (text) => {
    expect(decodeBase64(text)).toBeNull();
  },
);

test("megabytes of base64 are decoded", () => {
  expect(decodeBase64("A".repeat(16_000_000))?.length).toBe(12_000_000);
});

test.each([
  ["text/plain", true],
  ["Text/CSV; charset=utf-8", true],
  ["application/json", true],
  ["application/jsonl", true],
  ["application/xml", true],
  ["application/vnd.api+json", true],
  ["image/svg+xml", true],
  ["image/png", false],
  ["application/pdf", false],
  ["application/octet-stream", false],
  ["application/jsonlike", false],
])("a string given for %s is text: %s", (type, isText) => {
  expect(isTextFormat(type)).toBe(isText);
});

test("lone surrogates are replaced, and nothing else", () => {
  expect(wellFormed("\ufeffa\ud800b😀\u0000")).toBe("\ufeffa\ufffdb😀\u0000");
});

function message(content: string | null, mimeType: string): Message {
  return newMessage({ message_type: MessageType.INFO, content, mime_type: mimeType });
}

test.each([
  ["nothing", message(null, "image/png"), ""],
  ["text", message("a", "text/markdown"), "a"],
  ["JSON", message("{}", "application/json"), "{}"],
  ["a picture", message("AQID", "image/svg+xml"), new Uint8Array([1, 2, 3])],
])("the content of a message is decoded: %s", (_, given, content) => {
  expect(getContent(given)).toEqual(content);
});

test("invalid base64 is reported with the message's ID", () => {
  const broken = message("!", "image/png");

  expect(() => getContent(broken)).toThrow(ProtocolError);
  expect(() => getContent(broken)).toThrow(`message ${broken.id}: the image/png content is not valid base64.`);
});

test.each([
  ["info", "end", true],
  ["error", "end", true],
  ["info", "start", false],
  ["result", "end", false],
])("%s with state %s ends a turn: %s", (message_type, state, ends) => {
  expect(endsTurn(newMessage({ message_type, state }))).toBe(ends);
});
