// Templates around the conversation: header, banner, session list, landing screen, key form and indicator dialog.
// The actions are passed in.
import { html, nothing } from "lit/html.js";
import type { TemplateResult } from "lit/html.js";
import type { Chat } from "./chat.js";
import { refang, webAddress } from "./defang.js";
import { icon } from "./icons.js";
import type { Icon } from "./icons.js";
import { DEFAULT_NAME } from "./settings.js";
import type { Example, Settings } from "./settings.js";
import { duration, fill } from "./strings.js";
import type { Strings } from "./strings.js";
import type { ChatSession } from "./transport.js";
import { oneLine, printable } from "./untrusted.js";

type Part = TemplateResult | typeof nothing;

export interface HeaderActions {
  toggleSessions(): void;
  startNewSession(): void;
  extend(): void;
  toggleFullscreen(): void;
  /** Closes the dialog of the launcher. */
  close(): void;
}

const SHORT = 3600; // seconds left below which the time is shown as a warning

export function iconButton(name: Icon, label: string, act: (event: Event) => void, kind = "tool"): TemplateResult {
  return html`<button type="button" class=${kind} title=${label} aria-label=${label} @click=${act}>
    ${icon(name)}
  </button>`;
}

export function header(
  chat: Chat | null,
  settings: Settings,
  { isSessionsOpen, now }: { isSessionsOpen: boolean; now: number },
  actions: HeaderActions,
  strings: Strings,
): TemplateResult {
  const full = settings.isFullscreen;
  const name = oneLine(chat?.name ?? settings.sessionName, 80);
  return html`<header>
    <button
      type="button"
      class="name"
      aria-haspopup="dialog"
      aria-expanded=${String(isSessionsOpen)}
      ?disabled=${!chat}
      @click=${() => actions.toggleSessions()}
    >
      <bdi>${name}</bdi>${icon("down")}
    </button>
    ${chat?.isUnlogged ? html`<span class="badge">${strings.incognito}</span>` : nothing}
    <span class="spring"></span>
    ${chat ? timeLeft(chat, now, actions, strings) : nothing}
    ${chat ? iconButton("plus", strings.newSession, () => actions.startNewSession()) : nothing}
    ${iconButton(full ? "shrink" : "expand", full ? strings.leaveFullscreen : strings.fullscreen, () =>
      actions.toggleFullscreen(),
    )}
    ${settings.launcher ? iconButton("close", strings.close, () => actions.close()) : nothing}
  </header>`;
}

function timeLeft(chat: Chat, now: number, actions: HeaderActions, strings: Strings): Part {
  const { session } = chat;
  if (!session?.expire_time) return nothing;
  const seconds = session.expire_time - now;
  return html`<span class="left" dir="auto" ?data-short=${seconds < SHORT}
    >${seconds > 0 ? fill(strings.timeLeft, duration(seconds)) : strings.ended}${
      chat.transport.update && seconds > 0
        ? html` <button type="button" class="quiet" @click=${() => actions.extend()}>${strings.extend}</button>`
        : nothing
    }</span
  >`;
}

/** One line about the most important problem or notice. */
export function banner(chat: Chat, restart: () => void, strings: Strings): Part {
  const line = (text: string, kind: string, more: Part = nothing) =>
    html`<p class="banner" data-kind=${kind} dir="auto">${text} ${more}</p>`;
  if (chat.phase === "opening") return line(strings.connecting, "info");
  if (chat.connection === "reconnecting") return line(strings.reconnecting, "warning");
  if (chat.phase === "failed") {
    const again = html`<button type="button" @click=${restart}>${strings.tryAgain}</button>`;
    return line(chat.notice?.text ?? strings.failed, "error", again);
  }
  if (chat.notice) return line(chat.notice.text, chat.notice.isError ? "error" : "info");
  return chat.isLoggedDespiteIncognito ? line(strings.incognitoRefused, "warning") : nothing;
}

export interface SessionsActions {
  close(): void;
  search(text: string): void;
  rename(name: string): void;
  switchTo(id: string): void;
  startNewSession(): void;
  save(kind: "md" | "json"): void;
}

/** `sessions` is null while they are loading. */
export function sessionsPanel(
  chat: Chat,
  sessions: readonly ChatSession[] | null,
  search: string,
  actions: SessionsActions,
  strings: Strings,
): TemplateResult {
  const submit = (event: Event) => {
    event.preventDefault();
    const name = (event.currentTarget as HTMLElement).querySelector("input")?.value.trim();
    if (name) actions.rename(name);
  };
  const hasTurns = chat.conversation.turns.length > 0;
  return html`<div
    class="panel sessions"
    role="dialog"
    aria-label=${strings.sessions}
    @keydown=${closeOnEscape(actions)}
  >
    <form class="row" @submit=${submit}>
      <input aria-label=${strings.rename} dir="auto" maxlength="200" .value=${chat.name} />
      <button type="submit">${strings.save}</button>
      ${iconButton("close", strings.close, () => actions.close())}
    </form>
    <div class="row">
      <button type="button" @click=${() => actions.startNewSession()}>${strings.newSession}</button>
      <button type="button" ?disabled=${!hasTurns} @click=${() => actions.save("md")}>${strings.exportMarkdown}</button>
      <button type="button" ?disabled=${!hasTurns} @click=${() => actions.save("json")}>${strings.exportJson}</button>
    </div>
    ${chat.model ? html`<p class="hint">${fill(strings.modelOf, oneLine(chat.model, 80))}</p>` : nothing}
    ${chat.transport.list ? sessionList(chat, sessions, search, actions, strings) : nothing}
  </div>`;
}

function sessionList(
  chat: Chat,
  sessions: readonly ChatSession[] | null,
  search: string,
  actions: SessionsActions,
  strings: Strings,
): TemplateResult {
  if (!sessions) return html`<p class="hint">${strings.connecting}</p>`;
  if (sessions.length === 0) return html`<p class="hint">${strings.noSessions}</p>`;
  const now = Date.now() / 1000;
  const found = findSessions(sessions, search);
  return html`<input
      type="search"
      dir="auto"
      aria-label=${strings.search}
      placeholder=${strings.search}
      .value=${search}
      @input=${(event: Event) => actions.search((event.currentTarget as HTMLInputElement).value)}
    />
    ${found.length ? nothing : html`<p class="hint">${strings.noneFound}</p>`}
    <ul>
      ${found.map(
        (one) =>
          html`<li>
            <button
              type="button"
              aria-current=${one.id === chat.session?.id ? "true" : nothing}
              @click=${() => actions.switchTo(one.id)}
            >
              <span><bdi>${oneLine(one.title || one.name, 120)}</bdi>${sessionHint(one)}</span>
              <small>${one.expire_time ? fill(strings.timeLeft, duration(one.expire_time - now)) : ""}</small>
            </button>
          </li>`,
      )}
    </ul>`;
}

/** The name, if the title is shown and somebody chose one, and the date in the browser's language. */
function sessionHint({ name, title, create_time: created }: ChatSession): TemplateResult {
  const chosen = title && title !== name && name !== DEFAULT_NAME ? `${oneLine(name, 120)} · ` : "";
  const date = new Date((created ?? 0) * 1000);
  const shown = created ? date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }) : "";
  return html`<small dir="auto">${chosen}${shown}</small>`;
}

/** Newest first; those that contain every word of the search in their name, title, description or files. */
export function findSessions(sessions: readonly ChatSession[], search: string): ChatSession[] {
  const words = search.toLowerCase().split(/\s+/);
  const textOf = ({ name, title, description, files }: ChatSession) =>
    [name, title, description, ...files.map((file) => file.name)].join("\n").toLowerCase();
  return sessions
    .filter((one) => words.every((word) => textOf(one).includes(word)))
    .reverse()
    .sort((one, other) => (other.create_time ?? 0) - (one.create_time ?? 0));
}

/** Offered while it has an effect: the model of a session cannot change. */
export function modelChoice(
  { user, session }: Chat,
  chosen: string,
  choose: (model: string) => void,
  strings: Strings,
): Part {
  const models = user?.models ?? [];
  if (models.length < 2 || session) return nothing;
  const isListed = !chosen || models.some(({ id }) => id === chosen);
  const all = isListed ? models : [{ id: chosen, description: "" }, ...models]; // an alias, such as "experimental"
  return html`<label class="model"
    >${strings.model}
    <select @change=${(event: Event) => choose((event.currentTarget as HTMLSelectElement).value)}>
      ${all.map(
        ({ id, description }, place) =>
          html`<option value=${id} title=${oneLine(description, 200)} .selected=${chosen ? id === chosen : place === 0}>
            ${oneLine(id, 80)}
          </option>`,
      )}
    </select></label
  >`;
}

export function landing(
  examples: readonly Example[],
  pick: (prompt: string) => void,
  models: Part,
  strings: Strings,
): TemplateResult {
  return html`<div class="landing">
    <h2>${strings.title}</h2>
    <p>${strings.subtitle}</p>
    ${models}
    ${
      examples.length > 0
        ? html`<ul aria-label=${strings.examples}>
            ${examples.map(
              ({ title, prompt }) =>
                html`<li>
                  <button type="button" @click=${() => pick(prompt)}>
                    <strong dir="auto">${oneLine(title, 160)}</strong
                    ><span dir="auto">${oneLine(prompt.replace(/`/g, ""), 160)}</span>
                  </button>
                </li>`,
            )}
          </ul>`
        : nothing
    }
  </div>`;
}

/** Passes the key to `use` and nowhere else: not to form data, storage or an attribute. */
export function keyForm(
  baseUrl: string,
  problem: string,
  use: (key: string) => void,
  strings: Strings,
): TemplateResult {
  const submit = (event: Event) => {
    event.preventDefault();
    const input = (event.currentTarget as HTMLElement).querySelector("input");
    if (input?.value.trim()) use(input.value.trim());
  };
  return html`<form class="key" @submit=${submit}>
    <h2>${strings.keyTitle}</h2>
    ${problem ? html`<p class="failure">${problem}</p>` : nothing}
    <input type="password" autocomplete="off" spellcheck="false" aria-label=${strings.keyTitle} placeholder="svc_" />
    <button type="submit" class="primary">${strings.keyUse}</button>
    <p class="hint">${fill(strings.keyHint, baseUrl)}</p>
  </form>`;
}

export interface ChipActions {
  close(): void;
  copy(text: string): void;
}

/** The full indicator with its actions. Opening it takes a second click, on a link that shows its target. */
export function chipDialog(indicator: string, actions: ChipActions, strings: Strings): TemplateResult {
  const address = webAddress(indicator);
  return html`<div
    class="panel chip-dialog"
    role="dialog"
    aria-label=${strings.address}
    @keydown=${closeOnEscape(actions)}
  >
    <p class="whole" dir="ltr" tabindex="-1">${printable(indicator)}</p>
    <div class="row">
      <button type="button" class="primary" @click=${() => actions.copy(refang(indicator))}>
        ${strings.copyRefanged}
      </button>
      <button type="button" @click=${() => actions.copy(indicator)}>${strings.copyDefanged}</button>
      ${iconButton("close", strings.close, () => actions.close())}
    </div>
    ${
      address
        ? html`<p class="hint">${strings.openHint}</p>
            <p>
              <a href=${address} target="_blank" rel="noopener noreferrer" dir="ltr">${address}</a>
            </p>`
        : nothing
    }
  </div>`;
}

function closeOnEscape(actions: { close(): void }): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault(); // it closes no dialog around it
    event.stopPropagation();
    actions.close();
  };
}
