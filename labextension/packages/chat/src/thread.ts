// The list of turns. Each has its own node and is rendered only when it changes, so that a long session costs no more
// than its last turn. In a history, the last turn is rendered at once; the others get an empty node and are rendered when
// the page is idle: those in view first, then from the end backwards.
import { html, nothing, render } from "lit/html.js";
import type { TemplateResult } from "lit/html.js";
import { keyed } from "lit/directives/keyed.js";
import { chart } from "./chart.js";
import { decorate } from "./chips.js";
import type { Confirmation, Conversation, Picture, Step, Turn } from "./conversation.js";
import { icon } from "./icons.js";
import type { Icon } from "./icons.js";
import { MarkdownView } from "./markdown-view.js";
import { partsOf } from "./question.js";
import { statusNote } from "./status.js";
import { fill } from "./strings.js";
import type { Strings } from "./strings.js";
import type { Decision } from "./transport.js";
import { oneLine, printable } from "./untrusted.js";

export interface ThreadActions {
  readonly strings: Strings;
  retry(turn: Turn): void;
  editing(turn: Turn | null): void;
  resend(turn: Turn, text: string): void;
  insertAnswer?(turn: Turn): void;
  copyAnswer(turn: Turn): void;
  copy(text: string): void;
  /** Writes a question into the composer. */
  write(question: string): void;
  rate(turn: Turn, score: number): void;
  readonly canRate: boolean;
  confirm(asked: Confirmation, decision: Decision): void;
  readonly canConfirm: boolean;
}

const MAX_STEPS = 200; // steps shown of a turn; the export has all
const MAX_STEP = 20_000; // characters of one step
const SLICE_MS = 5; // of a frame's 16 ms, for rendering older turns; their layout takes more
const SOON_MS = 100; // longest time that older turns wait for the page to be idle
const WARM = "`a`\n\n|a|\n|-|\n\n```js\n```"; // initialises parser, sanitizer and highlighter

/** Runs `act` when the page is idle; Safari has no `requestIdleCallback`. */
const whenIdle: (act: () => void) => void =
  "requestIdleCallback" in globalThis
    ? (act) => requestIdleCallback(act, { timeout: SOON_MS })
    : (act) => setTimeout(act, 20);

interface RenderedTurn {
  readonly node: HTMLElement;
  readonly turn: Turn;
  version: number;
  answer: MarkdownView | undefined;
}

export class Thread {
  #conversation: Conversation | null = null;
  #rendered: RenderedTurn[] = [];
  #editing: Turn | null = null;
  #isFilling = false;
  readonly #inView = new Set<EventTarget>();

  /** `container` gets one node per turn; nothing else may be put into it. */
  constructor(
    readonly container: HTMLElement,
    private readonly actions: ThreadActions,
  ) {
    container.addEventListener("contentvisibilityautostatechange", (event) => {
      const { target, skipped } = event as ContentVisibilityAutoStateChangeEvent;
      if (!target) return;
      if (skipped) this.#inView.delete(target);
      else this.#inView.add(target);
    });
    whenIdle(() => {
      new MarkdownView(document.createElement("div")).update(WARM, true);
    });
  }

  edit(turn: Turn | null): void {
    const changed = [this.#editing, turn];
    this.#editing = turn;
    for (const shown of this.#rendered) if (changed.includes(shown.turn)) this.#render(shown);
  }

  update(conversation: Conversation): void {
    if (conversation !== this.#conversation) this.#clear(conversation);
    const { turns } = conversation;
    for (const shown of this.#rendered) if (!turns.includes(shown.turn)) shown.node.remove();
    this.#rendered = this.#rendered.filter((shown) => shown.node.isConnected);
    for (const turn of turns.slice(this.#rendered.length)) this.#rendered.push(this.#append(turn));
    const last = this.#rendered.at(-1);
    for (const shown of this.#rendered)
      if (shown.version !== shown.turn.version && (shown.version >= 0 || shown === last)) this.#render(shown);
    this.#fill();
  }

  /** Scrolls the last turn to the top, so that its question and verdict are visible. */
  revealLast(): void {
    this.#rendered.at(-1)?.node.scrollIntoView({ block: "start" });
  }

  #clear(conversation: Conversation): void {
    this.#conversation = conversation;
    this.#rendered = [];
    this.#editing = null;
    this.#inView.clear();
    this.container.replaceChildren();
  }

  #fill(): void {
    if (this.#isFilling || !this.#next()) return;
    this.#isFilling = true;
    whenIdle(() => {
      this.#isFilling = false;
      const end = performance.now() + SLICE_MS;
      for (let next = this.#next(); next && performance.now() < end; next = this.#next()) this.#render(next);
      this.#fill();
    });
  }

  /** The turn to render next, of those not rendered yet. */
  #next(): RenderedTurn | undefined {
    const missing = this.#rendered.filter(({ version }) => version < 0);
    return missing.find(({ node }) => this.#inView.has(node)) ?? missing.at(-1);
  }

  #append(turn: Turn): RenderedTurn {
    const node = document.createElement("article");
    node.className = "turn";
    this.container.append(node);
    return { node, turn, version: -1, answer: undefined };
  }

  #render(shown: RenderedTurn): void {
    const { turn, node } = shown;
    shown.version = turn.version;
    node.dataset["state"] = turn.state;
    render(this.#editing === turn ? editor(turn, this.actions) : turnTemplate(turn, this.actions), node, {
      creationScope: document,
    });
    const container = node.querySelector<HTMLElement>(".answer");
    if (!container) return;
    if (shown.answer?.container !== container) {
      shown.answer = new MarkdownView(container, (block) => {
        decorate(block, this.actions.strings);
      });
    }
    shown.answer.update(turn.answer, !turn.isOpen);
  }
}

function turnTemplate(turn: Turn, actions: ThreadActions): TemplateResult {
  const { strings } = actions;
  if (turn.isReplaced) {
    return html`<details class="replaced">
      <summary><bdi>${oneLine(partsOf(turn.question)[0]?.text ?? "", 80)}</bdi> (${strings.replaced})</summary>
      ${bodyTemplate(turn, actions)}
    </details>`;
  }
  return html`${questionTemplate(turn.question, strings)} ${bodyTemplate(turn, actions)}`;
}

/** The material that a question quotes is shown in boxes; the user's words are the turn's heading. */
function questionTemplate(question: string, strings: Strings): TemplateResult {
  const parts = partsOf(printable(question));
  const words = parts.filter(({ isMaterial }) => !isMaterial).map(({ text }) => text);
  return html`<div class="question" dir="auto">
    <h2 class="text" data-you="${strings.you}: ">${words.join("\n\n") || (parts.length ? strings.pasted : "")}</h2>
    ${parts.map(({ isMaterial, text }) => (isMaterial ? html`<pre dir="ltr" tabindex="0">${text}</pre>` : nothing))}
  </div>`;
}

function bodyTemplate(turn: Turn, actions: ThreadActions): TemplateResult {
  const { strings } = actions;
  return html`${traceTemplate(turn, strings)} ${confirmationTemplate(turn, actions)} ${statusTemplate(turn, strings)}
    <div class="answer" dir="auto"></div>
    ${turn.pictures.map((picture) => pictureTemplate(picture, actions))} ${failureTemplate(turn, strings)}
    ${turn.isOpen ? nothing : actionsTemplate(turn, actions)}`;
}

/** Above the answer, in words: a reader of only the first line must not take silence for "nothing found". */
function statusTemplate(turn: Turn, strings: Strings): TemplateResult | typeof nothing {
  const note = statusNote(turn, strings);
  if (!note) return nothing;
  return html`<p
    class="badge status"
    role="note"
    data-kind=${note.isWarning ? "warning" : "info"}
    aria-label=${fill(strings.answerStatus, note.label)}
  >
    ${note.isWarning ? "⚠ " : ""}${note.label}
  </p>`;
}

function traceTemplate(turn: Turn, strings: Strings): TemplateResult | typeof nothing {
  const { steps } = turn;
  if (steps.length === 0) return turn.isOpen ? html`<p class="working">${dots()}${strings.working}</p>` : nothing;
  const seconds = turn.endedAt ? ` · ${fill(strings.seconds, (turn.endedAt - turn.startedAt).toFixed(1))}` : "";
  const hidden = steps.length - MAX_STEPS;
  const count = steps.length === 1 ? strings.stepOne : fill(strings.trace, steps.length);
  return html`<details class="trace">
    <summary>
      ${turn.isOpen ? html`${dots()}<span dir="auto">${oneLine(turn.lastStep?.text ?? "", 160)}</span>` : html`<span dir="auto">${count}${seconds}</span>`}
    </summary>
    <ol>
      ${hidden > 0 ? html`<li class="hint">${fill(strings.earlierSteps, hidden)}</li>` : nothing}
      ${steps.slice(-MAX_STEPS).map(stepTemplate)}
    </ol>
  </details>`;
}

function dots(): TemplateResult {
  return html`<span class="dots" aria-hidden="true"></span>`;
}

function stepTemplate(step: Step): TemplateResult {
  return html`<li data-kind=${step.kind}>
    <span class="actor">${oneLine(step.actor, 40)}</span>
    <span class="text" dir="auto">${printable(step.text.slice(0, MAX_STEP))}</span>
  </li>`;
}

function confirmationTemplate(turn: Turn, actions: ThreadActions): TemplateResult | typeof nothing {
  const { confirmation, isOpen } = turn;
  const { strings } = actions;
  if (!confirmation || !isOpen || !actions.canConfirm) return nothing;
  const tool = oneLine(confirmation.tool, 64);
  const button = (label: string, decision: Decision) =>
    html`<button
      type="button"
      @click=${() => {
        actions.confirm(confirmation, decision);
      }}
    >
      ${label}
    </button>`;
  const asked = html`<div class="banner asked" data-kind="warning" role="alert">
    <p dir="auto">${fill(strings.mayCall, tool)}</p>
    <pre class="arguments" dir="ltr" tabindex="0">${confirmation.lines.join("\n") || strings.noArguments}</pre>
    <div class="row">
      ${button(strings.allow, "once")} ${button(strings.deny, "deny")}
      ${button(fill(strings.allowAll, tool), "session")}
    </div>
  </div>`;
  return html`${keyed(confirmation.id, asked)}`; // a new request never takes over the buttons of an earlier one
}

const charts = new WeakMap<Picture, HTMLElement | null>();

/** A chart is drawn into the page, once; its selection outlives the rendering of the turn. */
function chartOf(picture: Picture, actions: ThreadActions): HTMLElement | null {
  let drawn = charts.get(picture);
  if (drawn === undefined) {
    drawn = picture.mimeType === "image/svg+xml" ? chart(textOf(picture), actions.strings, actions) : null;
    charts.set(picture, drawn);
  }
  return drawn;
}

function textOf({ base64 }: Picture): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
  } catch {
    return ""; // not base64: shown as a broken image
  }
}

/** Other pictures are shown by `<img>`, where scripts in an SVG do not run and nothing is loaded from it. */
function pictureTemplate(picture: Picture, actions: ThreadActions): TemplateResult {
  const drawn = chartOf(picture, actions);
  if (drawn) return html`<figure>${drawn}</figure>`;
  const title = oneLine(picture.title) || actions.strings.picture;
  const address = `data:${picture.mimeType};base64,${picture.base64.replace(/[^A-Za-z0-9+/=]/g, "")}`;
  return html`<figure>
    <img src=${address} alt=${title} />
    <figcaption>${title}</figcaption>
  </figure>`;
}

function failureTemplate(turn: Turn, strings: Strings): TemplateResult | typeof nothing {
  if (turn.state === "stopped") return html`<p class="stopped">${strings.stopped}</p>`;
  if (!turn.failure) return nothing;
  return html`<p class="failure" dir="auto">
    <strong>${strings.failed}</strong> ${printable(turn.failure.text || turn.failure.code)}
  </p>`;
}

function actionsTemplate(turn: Turn, actions: ThreadActions): TemplateResult {
  const { strings } = actions;
  const tool = (name: Icon, label: string, act: () => void, pressed?: boolean) =>
    html`<button
      type="button"
      class="tool"
      title=${label}
      aria-label=${label}
      aria-pressed=${pressed === undefined ? nothing : String(pressed)}
      @click=${act}
    >
      ${icon(name)}
    </button>`;
  return html`<div class="actions">
    ${turn.answer && actions.insertAnswer ? tool("insert", strings.insertAnswer, () => actions.insertAnswer?.(turn)) : nothing}
    ${turn.answer ? tool("copy", strings.copyAnswer, () => actions.copyAnswer(turn)) : nothing}
    ${tool("retry", strings.retry, () => actions.retry(turn))}
    <span class="last-only">${tool("edit", strings.edit, () => actions.editing(turn))}</span>
    ${
      turn.answer && !turn.isPartial && actions.canRate
        ? html`${tool("good", strings.good, () => actions.rate(turn, 1), turn.score > 0)}
          ${tool("bad", strings.bad, () => actions.rate(turn, -1), turn.score < 0)}`
        : nothing
    }
  </div>`;
}

function editor(turn: Turn, actions: ThreadActions): TemplateResult {
  const { strings } = actions;
  const submit = (event: Event) => {
    event.preventDefault();
    const area = (event.currentTarget as HTMLElement).querySelector("textarea");
    if (area?.value.trim()) actions.resend(turn, area.value);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault(); // it closes no dialog around it
      actions.editing(null);
    }
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
    event.stopPropagation();
  };
  return html`<form class="editor" @submit=${submit} @keydown=${onKey}>
    <textarea dir="auto" aria-label=${strings.edit} .value=${turn.question} rows="3"></textarea>
    <p class="hint">${strings.editHint}</p>
    <button type="submit" class="primary">${strings.send}</button>
    <button type="button" @click=${() => actions.editing(null)}>${strings.cancel}</button>
  </form>`;
}
