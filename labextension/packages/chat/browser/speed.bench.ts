// Measures what users notice: the size of the script, a streaming answer and a long session. For the first two, figures
// of comparable projects (three chat widgets with Markdown) are shown, too.
import { afterAll, afterEach, expect, inject, test } from "vitest";
import { message, turn } from "../test/messages.js";
import type { ChatMessage } from "../src/transport.js";
import { decorate } from "../src/chips.js";
import { blocks, render } from "../src/markdown.js";
import { MarkdownView } from "../src/markdown-view.js";
import { ENGLISH } from "../src/strings.js";
import { ask, clear, frames, show } from "./page.js";

afterEach(clear);

declare module "vitest" {
  interface ProvidedContext {
    bundleBytes: number;
  }
}

const lines: string[] = [];
const say = (what: string, ours: string, limit: string, peers: string) =>
  lines.push([what.padEnd(44), ours.padEnd(12), limit.padEnd(12), peers].join(""));

afterAll(() => {
  const head = ["".padEnd(44), "svc-chat".padEnd(12), "limit".padEnd(12), "peers"].join("");
  console.info([head, ...lines].join("\n")); // eslint-disable-line no-console
});

const SECTION =
  "## Finding\n\n**An account was guessed** from 203.0.113.9, see `auth.log`.\n\n| Account | Failures | First |\n|---|--:|---|\n" +
  "| `root` | 8 | Nov 12 03:11:07 |\n| `admin` | 5 | Nov 12 03:12:41 |\n\n- block `203[.]0[.]113[.]9`\n- allow keys only\n\n" +
  "```bash\n# count\ngrep -c 'Failed password' /var/log/auth.log\n```\n\nThen evil.example was asked, and nothing else.\n\n";
const ANSWER = SECTION.repeat(Math.ceil(18_800 / SECTION.length)).slice(0, 18_800);
const CHUNKS = 470;
const BUNDLE_BYTES = 64_500;
const RENDER_MS = 600;
const FRAME_MS = 50;

test("the script is small", () => {
  const bytes = inject("bundleBytes");
  say("script, gzipped", `${bytes} B`, `${BUNDLE_BYTES} B`, "111000 to 141000 B");
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThanOrEqual(BUNDLE_BYTES);
});

/** The shortest of three runs: other work on the machine only adds time. */
async function bestOfThree(measure: () => number | Promise<number>, enough: number): Promise<number> {
  let best = Infinity;
  for (let tries = 0; tries < 3 && best >= enough; tries += 1) best = Math.min(best, await measure());
  return best;
}

function streamOnce(): number {
  const container = document.createElement("div");
  document.body.append(container);
  const view = new MarkdownView(container, (node) => {
    decorate(node, ENGLISH);
  });
  const size = Math.ceil(ANSWER.length / CHUNKS);
  const start = performance.now();
  for (let end = size; end < ANSWER.length; end += size) view.update(ANSWER.slice(0, end), false);
  view.update(ANSWER, true);
  const spent = performance.now() - start;
  container.remove();
  return spent;
}

/** The same answer and libraries, re-rendering everything at each chunk: measured for every tenth, times ten. */
function renderWholeEachTime(): number {
  const container = document.createElement("div");
  document.body.append(container);
  const size = Math.ceil(ANSWER.length / CHUNKS);
  const start = performance.now();
  for (let end = size; end < ANSWER.length; end += 10 * size) {
    container.replaceChildren(...blocks(ANSWER.slice(0, end)).map((block) => render(block, true)));
    decorate(container, ENGLISH);
  }
  const spent = performance.now() - start;
  container.remove();
  return spent * 10;
}

test(`an answer of 18.8 kB in ${CHUNKS} chunks is rendered within ${RENDER_MS} ms`, async () => {
  const spent = await bestOfThree(streamOnce, RENDER_MS);
  const whole = renderWholeEachTime();
  const peers = `3300 to 10000 ms (ours, the whole each time: ${whole.toFixed(0)} ms)`;
  say(`18.8 kB in ${CHUNKS} chunks, in total`, `${spent.toFixed(0)} ms`, `${RENDER_MS} ms`, peers);
  expect(spent).toBeLessThan(RENDER_MS);
});

/** The longest time that the page was blocked during `act`. */
async function longestFrame(act: () => Promise<void>): Promise<number> {
  let longest = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
  });
  observer.observe({ type: "longtask" }); // tasks over 50 ms
  await act();
  await frames(5);
  observer.disconnect();
  return longest;
}

test("a session of 1,000 messages opens, scrolls and takes text without a long frame", async () => {
  const history: ChatMessage[] = Array.from({ length: 250 }, (_, index) =>
    turn(index * 4, `Question ${index}?`, SECTION, `t${index}`),
  ).flat();
  const chat = await show();
  const opening = await bestOfThree(
    () =>
      longestFrame(async () => {
        chat.transport.history = [];
        chat.element.setAttribute("session-id", `none${performance.now()}`);
        await frames();
        chat.transport.history = history;
        chat.element.setAttribute("session-id", `long${performance.now()}`);
        await expect.poll(() => chat.all(".answer").length, { timeout: 20_000 }).toBe(250);
      }),
    FRAME_MS,
  );
  const scroller = chat.find(".scroll");
  const scrolling = await bestOfThree(
    () =>
      longestFrame(async () => {
        for (let step = 0; step < 60; step += 1) {
          scroller.scrollTop = (scroller.scrollHeight * step) / 60;
          await frames(1);
        }
      }),
    FRAME_MS,
  );
  const area = chat.find<HTMLTextAreaElement>(".composer textarea");
  const typing = await bestOfThree(
    () =>
      longestFrame(async () => {
        for (const letter of "who was brute-forced, and did anyone get in?") {
          area.value += letter;
          area.dispatchEvent(new InputEvent("input", { bubbles: true }));
          await frames(1);
        }
      }),
    FRAME_MS,
  );
  let seq = 1_000;
  const streaming = await bestOfThree(
    () =>
      longestFrame(async () => {
        await ask(chat, "and now?");
        const name = `turn${(seq += 1)}`;
        chat.transport.say(message(seq, "query", { content: "and now?", turn: name }));
        for (let step = 0; step < 100; step += 1) {
          chat.transport.say(message((seq += 1), "info", { turn: name, content: `step ${step}` }));
          await frames(1);
        }
        chat.transport.say(message((seq += 1), "info", { turn: name, state: "end" }));
      }),
    FRAME_MS,
  );
  const figures = { opening, scrolling, typing, streaming };
  for (const [what, spent] of Object.entries(figures)) {
    const shown = spent ? `${spent.toFixed(0)} ms` : `< ${FRAME_MS} ms`;
    say(`1,000 messages, longest frame, ${what}`, shown, `${FRAME_MS} ms`, "");
  }
  expect(Math.max(...Object.values(figures))).toBeLessThan(FRAME_MS);
}, 90_000);
