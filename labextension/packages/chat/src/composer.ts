// The input field and the list of attachments. The field keeps its own text: typing renders nothing.
import { html, nothing } from "lit/html.js";
import type { TemplateResult } from "lit/html.js";
import type { Chat, Upload } from "./chat.js";
import { icon } from "./icons.js";
import { iconButton } from "./panels.js";
import { fileSize, fill } from "./strings.js";
import type { Strings } from "./strings.js";
import type { ChatFile } from "./transport.js";
import { oneLine } from "./untrusted.js";

export interface ComposerActions {
  send(text: string): void;
  stop(): void;
  attach(files: readonly File[]): void;
  dismiss(upload: Upload): void;
  detach(file: ChatFile): void;
  /** Arrow up was pressed in the empty field. */
  editLast(): void;
}

const MAX_PASTED = 100_000; // characters that the field renders within a frame; longer pastes are attached as a file
const MAX_ROWS = 12;

export function composer(chat: Chat | null, actions: ComposerActions, strings: Strings): TemplateResult {
  const isBusy = chat?.isBusy ?? false;
  const isBlocked = chat?.isBlocked ?? false;
  const canAttach = chat?.transport.attach !== undefined;
  const submit = (event: Event) => {
    event.preventDefault();
    sendFrom((event.currentTarget as HTMLElement).querySelector("textarea"), isBlocked, actions);
  };
  return html`<form class="composer" @submit=${submit}>
    ${chat ? fileList(chat, actions, strings) : nothing}
    <div class="field">
      ${canAttach ? attachButton(actions, strings) : nothing}
      <textarea
        rows="1"
        dir="auto"
        aria-label=${strings.question}
        placeholder=${strings.placeholder}
        ?disabled=${!chat}
        @input=${grow}
        @keydown=${(event: KeyboardEvent) => onKey(event, isBlocked, actions)}
        @paste=${(event: ClipboardEvent) => {
          if (canAttach) onPaste(event, actions);
        }}
      ></textarea>
      ${
        isBusy
          ? html`<button
              type="button"
              class="primary round"
              title=${chat?.isStopping ? strings.stopping : strings.stop}
              aria-label=${strings.stop}
              ?disabled=${chat?.isStopping ?? false}
              @click=${() => actions.stop()}
            >
              ${icon("stop")}
            </button>`
          : nothing
      }
      ${
        isBlocked
          ? nothing
          : html`<button
              type="submit"
              class="primary round"
              title=${strings.send}
              aria-label=${strings.send}
              ?disabled=${!chat}
            >
              ${icon("send")}
            </button>`
      }
    </div>
  </form>`;
}

/** Puts text into the field, as if it had been typed. */
export function setText(area: HTMLTextAreaElement, text: string): void {
  area.value = text;
  grow({ currentTarget: area });
}

/** The files of a drop or a paste. */
export function filesOf(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])];
}

function sendFrom(area: HTMLTextAreaElement | null, isBlocked: boolean, actions: ComposerActions): void {
  if (!area?.value.trim() || isBlocked) return;
  actions.send(area.value);
  setText(area, "");
}

/** Sets as many rows as there are lines. Counts them, because measuring would force a layout. */
function grow({ currentTarget }: { currentTarget: EventTarget | null }): void {
  const area = currentTarget as HTMLTextAreaElement;
  let rows = 1;
  for (let at = area.value.indexOf("\n"); at >= 0 && rows < MAX_ROWS; at = area.value.indexOf("\n", at + 1)) rows += 1;
  if (area.rows !== rows) area.rows = rows;
}

function onKey(event: KeyboardEvent, isBlocked: boolean, actions: ComposerActions): void {
  const area = event.currentTarget as HTMLTextAreaElement;
  if (event.key === "ArrowUp" && area.value === "") {
    event.preventDefault();
    actions.editLast();
  } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    sendFrom(area, isBlocked, actions);
  }
}

function onPaste(event: ClipboardEvent, actions: ComposerActions): void {
  const files = filesOf(event.clipboardData);
  const text = event.clipboardData?.getData("text/plain") ?? "";
  if (text.length > MAX_PASTED) files.push(new File([text], "pasted.txt", { type: "text/plain" }));
  else if (files.length === 0 || text) return;
  event.preventDefault();
  actions.attach(files);
}

function attachButton(actions: ComposerActions, strings: Strings): TemplateResult {
  const onChange = (event: Event) => {
    const input = event.currentTarget as HTMLInputElement;
    actions.attach([...(input.files ?? [])]);
    input.value = "";
  };
  const choose = (event: Event) => {
    ((event.currentTarget as HTMLElement).nextElementSibling as HTMLInputElement).click();
  };
  return html`${iconButton("attach", strings.attach, choose, "tool")}<input
      type="file"
      multiple
      hidden
      aria-label=${strings.attach}
      @change=${onChange}
    />`;
}

function fileList(chat: Chat, actions: ComposerActions, strings: Strings): TemplateResult | typeof nothing {
  if (chat.files.length + chat.uploads.length === 0) return nothing;
  return html`<ul class="files" aria-label=${strings.files}>
    ${chat.files.map(
      (file) =>
        html`<li>
          <bdi title=${oneLine(file.name)}>${oneLine(file.name, 60)}</bdi><small>${fileSize(file.size)}</small>
          ${
            chat.transport.detach
              ? iconButton("close", fill(strings.remove, oneLine(file.name, 60)), () => actions.detach(file), "tiny")
              : nothing
          }
        </li>`,
    )}
    ${chat.uploads.map((upload) => uploadTemplate(upload, actions, strings))}
  </ul>`;
}

function uploadTemplate(upload: Upload, actions: ComposerActions, strings: Strings): TemplateResult {
  const name = oneLine(upload.name, 60);
  return html`<li data-failed=${upload.error ? "" : nothing}>
    <bdi title=${oneLine(upload.name)}>${name}</bdi>
    ${
      upload.error
        ? html`<small>${oneLine(upload.error, 200)}</small>`
        : html`<progress max="1" .value=${upload.share} aria-label=${fill(strings.uploading, name)}></progress>`
    }
    ${iconButton("close", fill(strings.remove, name), () => actions.dismiss(upload), "tiny")}
  </li>`;
}
