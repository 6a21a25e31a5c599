import axe from "axe-core";
import { afterEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { message, turn } from "../test/messages.js";
import { ask, clear, frames, show } from "./page.js";
import type { Page } from "./page.js";

afterEach(clear);

const ANSWER =
  "**Two accounts** were guessed from 203.0.113.9.\n\n## By account\n\n| Account | Failures |\n|---|--:|\n| `root` | 8 |\n\n" +
  '```bash\n# who\ngrep -c "Failed" auth.log\n```\n\n> quoted\n\n- one\n- see <http://evil.example/>';

const FOLDED =
  "**One account got in.** (high)\n\n- `root` from 203.0.113.9, line 12\n\n" +
  "<details>\n<summary>64 accounts</summary>\n\n| Account | Failures | First seen | Source address |\n|---|--:|---|---|\n" +
  "| `root` | 8 | 2026-11-20 03:11:02 | 203.0.113.9 |\n\n</details>\n\n<details>\n<summary>24 lines of evidence</summary>\n\nx\n\n</details>";

async function answered(shown: Page): Promise<void> {
  await ask(shown, "Who was brute-forced?");
  shown.transport.say(...turn(0, "Who was brute-forced?", ANSWER));
  await frames();
}

/** An answer with this status. */
const rated = (status: string) => async (shown: Page) => {
  await ask(shown, "who?");
  const messages = turn(0, "who?", "**No failed login.**");
  shown.transport.say(
    ...messages.map((one) => ({ ...one, answer_status: one.message_type === "result" ? status : null })),
  );
  await frames();
};

const SCENES: Record<string, (shown: Page) => Promise<void>> = {
  landing: () => Promise.resolve(),
  answered,
  "not examined": rated("not_examined"),
  "partly answered": rated("partly_answered"),
  folded: async (shown) => {
    await ask(shown, "What is this?\n\n```\nline 1\nline 2\n```");
    shown.transport.say(...turn(0, "What is this?\n\n```\nline 1\nline 2\n```", FOLDED));
    await frames();
    shown.find(".answer summary").click();
  },
  trace: async (shown) => {
    await answered(shown);
    shown.find(".trace summary").click();
  },
  streaming: async (shown) => {
    await ask(shown, "who?");
    shown.transport.say(message(1, "query", { content: "who?" }), message(2, "thinking", { content: "hm" }));
  },
  failed: async (shown) => {
    await ask(shown, "who?");
    const error = { status_code: 500, status_message: "internal_error", content: "id 7", state: "end" };
    shown.transport.say(message(1, "query", { content: "who?" }), message(2, "error", error));
  },
  sessions: async (shown) => {
    await answered(shown);
    shown.find("header .name").click();
  },
  address: async (shown) => {
    await answered(shown);
    shown.find(".chip").click();
  },
  "full screen": async (shown) => {
    await answered(shown);
    shown.find("[aria-label='Full screen']").click();
  },
  reconnecting: (shown) => {
    shown.transport.listener?.onConnection("reconnecting");
    return Promise.resolve();
  },
};

const CASES = Object.keys(SCENES).flatMap((scene) =>
  ["light", "dark"].flatMap((theme) => [320, 1400].map((width) => ({ scene, theme, width }))),
);

test.each(CASES)(
  "$scene in $theme at $width px has no accessibility violation, and nothing is cut off",
  async (one) => {
    await page.viewport(one.width, 900);
    const examples = '[{"title":"Triage","prompt":"Who was brute-forced?"}]';
    const shown = await show({ theme: one.theme, examples });
    await SCENES[one.scene]?.(shown);
    await frames();

    const { violations } = await axe.run(document.querySelector("main") ?? document, {
      rules: { "page-has-heading-one": { enabled: false }, region: { enabled: false } }, // rules for the page, not the element
    });
    expect(
      violations.map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => [html, failureSummary])]),
    ).toEqual([]);
    expect(document.documentElement.scrollWidth).toBeLessThanOrEqual(one.width);
    await page.screenshot({ path: `shots/${one.scene}-${one.theme}-${one.width}.png` });
  },
);

test("right-to-left text is laid out from right to left", async () => {
  const chat = await show();
  await ask(chat, "من؟");
  chat.transport.say(...turn(0, "من؟", "الحساب `root` فقط."));
  await frames();
  expect(getComputedStyle(chat.find(".question")).direction).toBe("rtl");
  expect(getComputedStyle(chat.find(".answer")).direction).toBe("rtl");
});

test("screen readers get polite announcements", async () => {
  const chat = await show();
  await ask(chat, "who?");
  chat.transport.say(...turn(0, "who?", "**Two** accounts.\n\nMore."));
  await expect
    .poll(() => chat.find("[role=status]").textContent, { timeout: 4_000 })
    .toBe("Answer ready. Two accounts.");
});
