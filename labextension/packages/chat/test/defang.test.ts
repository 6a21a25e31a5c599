import { expect, test } from "vitest";
import { defang, refang, webAddress } from "../src/defang.js";

const INDICATORS = [
  ["http://evil.com/a.b?c=d", "hxxp://evil[.]com/a.b?c=d"],
  ["HTTPS://EVIL.EXAMPLE/x", "hxxps://EVIL[.]EXAMPLE/x"],
  ["ftp://a.org/x", "fxp://a[.]org/x"],
  ["ssh://a.org", "ssh[:]//a[.]org"],
  ["http://user:pw@evil.com/", "hxxp://user:pw[@]evil[.]com/"],
  ["a.b@evil.com", "a.b[@]evil[.]com"],
  ["203.0.113.9", "203[.]0[.]113[.]9"],
  ["203.0.113.9:443", "203[.]0[.]113[.]9:443"],
  ["evil.com", "evil[.]com"],
  ["evil.co.uk", "evil[.]co[.]uk"],
  ["пример.рф", "пример[.]рф"],
  ["xn--e1afmkfd.xn--p1ai", "xn--e1afmkfd[.]xn--p1ai"],
  ["www.evil.zip", "www[.]evil[.]zip"],
] as const;

test.each(INDICATORS)("%s is shown as %s", (word, safe) => {
  expect(defang(word)).toBe(safe);
});

test.each(INDICATORS)("%s comes back from its shown form", (word, safe) => {
  expect(refang(safe).toLowerCase()).toBe(word.toLowerCase());
});

test.each(INDICATORS)("%s is defanged once and for all", (_, safe) => {
  expect(defang(safe)).toBe(safe);
});

test.each([
  "auth.log",
  "notes.md",
  "setup.py",
  "1.5",
  "9.6",
  "12:30:45",
  "48,211",
  "e.g",
  "999.1.1.1",
  "a_b_c",
  "sshd[991]",
])("%s is no indicator", (word) => {
  expect(defang(word)).toBeNull();
});

test("an IPv6 address is an indicator as it is", () => {
  expect(defang("2001:db8::1")).toBe("2001:db8::1");
  expect(defang("12:30:45")).toBeNull();
});

test.each([
  ["hxxp://evil[.]com/a", "http://evil.com/a"],
  ["javascript:alert(1)", null],
  ["data:text/html,x", null],
  ["file:///etc/passwd", null],
  ["evil[.]com", null],
])("of %s a browser may open %s", (text, address) => {
  expect(webAddress(text)).toBe(address);
});
