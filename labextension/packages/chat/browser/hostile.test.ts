// Attacker-controlled text in every field: nothing runs, nothing is fetched, nothing breaks out of its place.
// Families: OWASP "XSS Filter Evasion", DOMPurify's mutation and clobbering classes, and those specific to Markdown
// renderers. The payloads were written for this test: each would set `window.hit`, or fetch from HOST.
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { message } from "../test/messages.js";
import type { ChatMessage } from "../src/transport.js";
import { ask, clear, frames, show } from "./page.js";
import type { Page } from "./page.js";

const HOST = "hostile.invalid";
const HIT = "window.hit=1";
const FETCH = `https://${HOST}/x`;

const PAYLOADS: Record<string, string> = {
  script: `<script>${HIT}</script>`,
  "script from elsewhere": `<script src=//${HOST}/x.js></script>`,
  "script in svg": `<svg><script>${HIT}</script></svg>`,
  "image that fails": `<img src=x onerror=${HIT}>`,
  "image in capitals": `<IMG SRC=x ONERROR="${HIT}">`,
  "image without quotes or end": `<img src=\`x\` onerror=${HIT}//`,
  "image from elsewhere": `<img src=${FETCH}>`,
  "image set": `<img srcset="${FETCH} 2x">`,
  "svg that loads": `<svg/onload=${HIT}>`,
  "svg animation": `<svg><animate onbegin=${HIT} attributeName=x dur=1s>`,
  "svg use": `<svg><use href="${FETCH}#a"/></svg>`,
  "svg image": `<svg><image href=${FETCH} /></svg>`,
  "body that loads": `<body onload=${HIT}>`,
  "focus at once": `<input autofocus onfocus=${HIT}>`,
  details: `<details open ontoggle=${HIT}>x</details>`,
  video: `<video src=${FETCH} onerror=${HIT} autoplay></video>`,
  "audio source": `<audio><source src=${FETCH} onerror=${HIT}></audio>`,
  marquee: `<marquee onstart=${HIT}>x</marquee>`,
  iframe: `<iframe src="javascript:parent.hit=1"></iframe>`,
  "iframe document": `<iframe srcdoc="<script>parent.hit=1</script>"></iframe>`,
  object: `<object data="${FETCH}"></object>`,
  embed: `<embed src=${FETCH}>`,
  base: `<base href=${FETCH}>`,
  "link style sheet": `<link rel=stylesheet href=${FETCH}.css>`,
  "link prefetch": `<link rel=prefetch href=${FETCH}>`,
  refresh: `<meta http-equiv=refresh content="0;url=javascript:${HIT}">`,
  "style import": `<style>@import '${FETCH}.css';</style>`,
  "style of the page": `<style>* { background: url(${FETCH}) !important; position: fixed }</style>`,
  "style attribute": `<p style="position:fixed;inset:0;background:url(${FETCH})">x</p>`,
  form: `<form action=${FETCH}><button>send</button></form>`,
  "form that clobbers": `<form id=body><input name=firstChild><input name=attributes></form>`,
  "anchor that clobbers": `<a id=defaultView><a id=defaultView name=x href=${FETCH}>`,
  "mutation through math": `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${HIT}&gt;">`,
  "mutation through svg": `<svg></p><style><a id="</style><img src=1 onerror=${HIT}>">`,
  "mutation through noscript": `<noscript><p title="</noscript><img src=x onerror=${HIT}>">`,
  "mutation through select": `<select><template><img src=x onerror=${HIT}></template></select>`,
  "mutation through a comment": `<!--><img src=x onerror=${HIT}>-->`,
  template: `<template shadowrootmode=open><img src=x onerror=${HIT}></template>`,
  slot: `<slot name=x onslotchange=${HIT}></slot>`,
  "custom element": `<svc-chat base-url="https://${HOST}" api-key=svc_x></svc-chat>`,
  "zero byte": `<img src=x one\u0000rror=${HIT}><scr\u0000ipt>${HIT}</scr\u0000ipt>`,
  "line separator": `<img\u2028src=x\u2029onerror=${HIT}>`,
  entities: `&lt;img src=x onerror=${HIT}&gt; &#60;script&#62;${HIT}&#60;/script&#62;`,
  "link of script": `[x](javascript:${HIT})`,
  "link of script in capitals": `[x](JaVaScRiPt:${HIT})`,
  "link of script with entities": `[x](java&#x09;script&colon;${HIT})`,
  "link of script by reference": `[x][y]\n\n[y]: javascript:${HIT}`,
  "autolink of script": `<javascript:${HIT}>`,
  "link of data": `[x](data:text/html;base64,PHNjcmlwdD5wYXJlbnQuaGl0PTE8L3NjcmlwdD4=)`,
  "link of vbscript": `[x](vbscript:msgbox)`,
  "link title that breaks out": `[x](http://a.b 'y" onmouseover="${HIT}')`,
  "image of Markdown": `![x](${FETCH}.png)`,
  "image of Markdown by reference": `![x][y]\n\n[y]: ${FETCH}.png`,
  "image alt that breaks out": `![" onerror="${HIT}](x)`,
  "language that breaks out": `\`\`\`"><img src=x onerror=${HIT}>\nx\n\`\`\``,
  "code that ends early": `\`</code><img src=x onerror=${HIT}>\``,
  "cell that breaks out": `| a |\n|---|\n| </td></table><img src=x onerror=${HIT}> |`,
  "template of Lit": "${" + HIT + "} <?lit$0$?> {{lit-0}}",
  "template of a framework": `{{constructor.constructor('${HIT}')()}}`,
  formula: `$\\href{javascript:${HIT}}{x}$ $$\\unicode{x}$$`,
};

type Place = (shown: Page, payloads: readonly string[]) => Promise<void>;

const PLACES: Record<string, Place> = {
  result: (shown, payloads) => tell(shown, payloads, (content) => message(2, "result", { content })),
  "result that streams in": async (shown, payloads) => {
    await ask(shown, "who?");
    shown.transport.say(message(1, "query", { content: "who?" }));
    for (const [place, payload] of payloads.entries()) {
      shown.transport.say(message(place + 2, "result", { content: `\n\n${payload}` }));
      await frames(1);
    }
  },
  info: (shown, payloads) =>
    tell(shown, payloads, (payload) => message(2, "info", { content: payload, actor: payload, title: payload })),
  thinking: (shown, payloads) => tell(shown, payloads, (content) => message(2, "thinking", { content })),
  source: (shown, payloads) =>
    tell(shown, payloads, (payload) => message(2, "source", { title: payload, mime_type: payload })),
  "picture title": (shown, payloads) => tell(shown, payloads, (title) => picture(title, "<svg/>")),
  "picture content": (shown, payloads) =>
    tell(shown, payloads, (payload) =>
      picture("x", `<svg xmlns="http://www.w3.org/2000/svg" onload="${HIT}">${payload}</svg>`),
    ),
  "chart content": (shown, payloads) =>
    tell(shown, payloads, (payload) => picture("x", chart(`<text>x</text>${payload}`))),
  "chart text": (shown, payloads) => tell(shown, payloads, (payload) => picture("x", chart(inText(payload)))),
  "picture's base64": (shown, payloads) =>
    tell(shown, payloads, (content) => message(2, "source", { mime_type: "image/png", content })),
  error: (shown, payloads) =>
    tell(shown, payloads, (payload) =>
      message(2, "error", { content: payload, status_code: 500, status_message: payload, state: "end" }),
    ),
  question: (shown, payloads) => tell(shown, payloads, (content) => message(2, "query", { content })),
  "file name": async (shown, payloads) => {
    const dropped = new DataTransfer();
    payloads.forEach((_, place) => dropped.items.add(new File(["x"], `x${place}`)));
    shown.element.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true }));
    await expect.poll(() => shown.transport.uploads.length).toBe(payloads.length);
    payloads.forEach((name, place) => {
      shown.transport.uploads[place]?.done({ name, size: 1 });
    });
    await expect.poll(() => shown.all(".files small").length).toBe(payloads.length);
  },
  "session name": async (shown, payloads) => {
    const one = { description: "", expire_time: 0, ttl: 1, can_log: true, files: [] };
    shown.transport.sessions = payloads.map((name, place) => ({ ...one, id: `s${place}`, name }));
    shown.find("header .name").click();
    await expect.poll(() => shown.all(".sessions li").length).toBe(payloads.length);
    for (const name of payloads) {
      shown.element.setAttribute("session-name", name);
      await frames(1);
    }
  },
  example: async (shown, payloads) => {
    const examples = payloads.map((payload) => ({ title: payload, prompt: payload }));
    shown.element.setAttribute("examples", JSON.stringify(examples));
    await expect.poll(() => shown.all(".landing li").length).toBe(payloads.length);
  },
};

function chart(content: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" class="svc-chart" width="100%" height="9">${content}</svg>`;
}

/** The payload as a label, a tooltip, a value and a question. */
function inText(payload: string): string {
  const text = payload.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<g data-value="${text}" data-ask="${text}"><title>${text}</title><text>${text}</text></g>`;
}

function picture(title: string, svg: string): ChatMessage {
  const content = btoa(String.fromCharCode(...new TextEncoder().encode(svg)));
  return message(2, "source", { title, mime_type: "image/svg+xml", content });
}

/** One turn per payload, in its second message; every trace is opened. */
async function tell(shown: Page, payloads: readonly string[], carry: (payload: string) => ChatMessage): Promise<void> {
  const turns = payloads.map((payload, place) => [
    message(1, "query", { content: "who?", turn: `t${place}` }),
    { ...carry(payload), turn: `t${place}` },
    message(3, "info", { content: "done", state: "end", turn: `t${place}` }),
  ]);
  shown.transport.history = turns.flat().map((one, place) => ({ ...one, id: `m${place}`, seq: place + 1 }));
  shown.element.setAttribute("session-id", `s${performance.now()}`);
  await expect.poll(() => shown.all(".answer").length, { timeout: 10_000 }).toBe(payloads.length);
  for (const trace of shown.all(".trace")) trace.setAttribute("open", "");
  for (const article of shown.all("article")) article.style.contentVisibility = "visible"; // hidden content would not load anything
  await frames(2);
}

declare global {
  interface Window {
    hit?: number;
  }
}
declare module "vitest" {
  interface ProvidedContext {
    isLong: boolean;
  }
}

let requests: string[];
const observer = new PerformanceObserver((list) => {
  requests.push(...list.getEntries().map(({ name }) => name));
});

beforeEach(() => {
  requests = [];
  delete window.hit;
  observer.observe({ type: "resource" });
});
afterEach(() => {
  observer.disconnect();
  clear();
});

const settle = () => new Promise((resolve) => setTimeout(resolve, 30)); // for payloads that run or load with a delay

/** With one page per payload, a failure names the payload; one page for all is enough to show that nothing happens. */
const CASES: Record<string, readonly string[]> = inject("isLong")
  ? Object.fromEntries(Object.entries(PAYLOADS).map(([family, payload]) => [family, [payload]]))
  : { "any family": Object.values(PAYLOADS) };

test.each(Object.keys(PLACES))(
  "nothing of any family runs or is fetched as %s",
  async (place) => {
    for (const [family, payloads] of Object.entries(CASES)) {
      const shown = await show();
      const body = document.body.getBoundingClientRect();
      await PLACES[place]?.(shown, payloads);
      await settle();

      expect([family, window.hit]).toEqual([family, undefined]);
      expect([family, requests.filter((address) => address.includes(HOST))]).toEqual([family, []]);
      expect([
        family,
        shown.all("script, iframe, object, embed, form[action], style, link, base, a, slot, svc-chat"),
      ]).toEqual([family, []]);
      expect([family, document.body.getBoundingClientRect()]).toEqual([family, body]);
      clear();
    }
  },
  120_000,
);

test("the test detects a page that runs or fetches them", async () => {
  const box = document.createElement("div");
  document.body.append(box);
  box.innerHTML = (PAYLOADS["image that fails"] ?? "") + (PAYLOADS["image from elsewhere"] ?? "");
  await expect.poll(() => window.hit).toBe(1);
  await expect.poll(() => requests.filter((address) => address.includes(HOST)).length).toBeGreaterThan(0);
  box.remove();
});
