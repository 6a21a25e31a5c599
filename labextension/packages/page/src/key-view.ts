// The dialog that lists, creates and revokes the user's API keys. A new key is shown only until the dialog closes.

import { make } from "./elements.js";
import { RefusedError, type Key, type Keys, type NewKey } from "./keys.js";

const DAY_SECONDS = 86_400;
const LIFETIMES: readonly (readonly [string, number])[] = [
  ["1 day", DAY_SECONDS],
  ["30 days", 30 * DAY_SECONDS],
  ["90 days", 90 * DAY_SECONDS],
  ["1 year", 365 * DAY_SECONDS],
  ["maximum", 0],
];
const DEFAULT_LIFETIME = 90 * DAY_SECONDS;

/** The dependencies of the dialog. */
export interface KeyViewOptions {
  readonly keys: Keys;
  /** Called if the key of this page was revoked or is no longer valid. */
  readonly onsignout: () => void;
}

/** Adds the dialog to the document and shows it. Closing removes it, and with it the new key. */
export function openKeyView(parent: HTMLElement, options: KeyViewOptions): HTMLDialogElement {
  const closing = new AbortController();
  const rows = make("tbody");
  const status = make("p", { className: "status", role: "status" });
  const newKey = make("div", { className: "new-key" });
  const dialog = make(
    "dialog",
    { className: "keys", ariaLabel: "API keys" },
    make(
      "header",
      {},
      make("h2", { textContent: "API keys" }),
      make("button", {
        type: "button",
        textContent: "Close",
        onclick: () => {
          dialog.close();
        },
      }),
    ),
    make("p", {
      textContent:
        "A key gives access to your sessions from a notebook, shell or program (SVC_API_KEY). Revoke keys you no longer use.",
    }),
    make("div", { className: "scroll" }, make("table", {}, head(), rows)),
    creation((name, ttl) =>
      guarded(async () => {
        const created = await options.keys.create(name, ttl, closing.signal);
        newKey.replaceChildren(...newKeyElements(created));
        await refresh();
      }),
    ),
    newKey,
    status,
  );
  dialog.onclose = () => {
    closing.abort();
    dialog.remove();
  };

  async function guarded(work: () => Promise<void>): Promise<void> {
    status.textContent = "";
    try {
      await work();
    } catch (error) {
      if (closing.signal.aborted) return;
      if (!(error instanceof RefusedError)) throw error;
      if (error.status === 401) {
        dialog.close();
        options.onsignout();
      }
      status.textContent = error.message;
    }
  }

  async function refresh(): Promise<void> {
    const keys = await options.keys.list(closing.signal);
    rows.replaceChildren(
      ...keys.map((key) =>
        row(key, () =>
          guarded(async () => {
            await options.keys.revoke(key.id, closing.signal);
            await refresh();
          }),
        ),
      ),
    );
  }

  parent.append(dialog);
  dialog.showModal();
  void guarded(refresh);
  return dialog;
}

function head(): HTMLElement {
  const names = ["Name", "ID", "Created", "Expires", "Action"];
  return make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col", textContent: name }))));
}

function row(key: Key, revoke: () => Promise<void>): HTMLElement {
  const isInactive = key.revoke_time > 0 || (key.expire_time > 0 && key.expire_time * 1000 <= Date.now());
  const action = make("td");
  if (!isInactive) action.append(revocation(key, revoke));
  return make(
    "tr",
    { className: isInactive ? "over" : "" },
    make("td", { textContent: nameOf(key) }),
    make("td", {}, make("code", { textContent: key.id })),
    make("td", { textContent: dateOf(key.create_time) }),
    make("td", { textContent: expiryOf(key) }),
    action,
  );
}

/** A button that revokes the key at the second click. */
function revocation(key: Key, revoke: () => Promise<void>): HTMLButtonElement {
  const button = make("button", {
    type: "button",
    textContent: "Revoke",
    ariaLabel: `Revoke ${nameOf(key)} ${key.id}`,
  });
  button.onclick = () => {
    if (button.dataset["armed"] === "yes") {
      button.disabled = true;
      void revoke().finally(() => {
        button.disabled = false;
      });
      return;
    }
    button.dataset["armed"] = "yes";
    button.textContent = key.is_asking ? "Revoke and sign out?" : "Really revoke?";
    button.ariaLabel = `${button.textContent} ${nameOf(key)} ${key.id}`;
  };
  button.onblur = () => {
    delete button.dataset["armed"];
    button.textContent = "Revoke";
    button.ariaLabel = `Revoke ${nameOf(key)} ${key.id}`;
  };
  return button;
}

function creation(create: (name: string, ttl: number) => Promise<void>): HTMLFormElement {
  const name = make("input", { name: "name", placeholder: "purpose", maxLength: 100, autocomplete: "off" });
  const lifetime = make("select", { name: "lifetime" });
  lifetime.append(
    ...LIFETIMES.map(([label, seconds]) => make("option", { value: String(seconds), textContent: label })),
  );
  lifetime.value = String(DEFAULT_LIFETIME);
  const button = make("button", { type: "submit", textContent: "Create key", className: "primary" });
  const form = make("form", {}, make("label", {}, "Name", name), make("label", {}, "Valid for", lifetime), button);
  form.onsubmit = (event) => {
    event.preventDefault();
    button.disabled = true;
    void create(name.value.trim(), Number(lifetime.value)).finally(() => {
      button.disabled = false;
    });
    name.value = "";
  };
  return form;
}

function newKeyElements(created: NewKey): HTMLElement[] {
  const field = make("input", { value: created.api_key, readOnly: true, ariaLabel: "The new key", spellcheck: false });
  const copy = make("button", { type: "button", textContent: "Copy" });
  copy.onclick = () => {
    field.select();
    void navigator.clipboard.writeText(created.api_key).then(
      () => {
        copy.textContent = "Copied";
      },
      () => {
        copy.textContent = "Press Ctrl+C";
      },
    );
  };
  return [
    make("p", { textContent: "This is your new key. It is shown only once: copy it now." }),
    make("div", { className: "line" }, field, copy),
  ];
}

function nameOf(key: Key): string {
  if (key.is_asking) return key.is_page ? "this page" : key.name || "key of this page";
  return key.name || "unnamed";
}

function expiryOf(key: Key): string {
  if (key.revoke_time > 0) return `revoked ${dateOf(key.revoke_time)}`;
  if (key.expire_time === 0) return "never";
  return dateOf(key.expire_time);
}

function dateOf(seconds: number): string {
  const date = new Date(seconds * 1000);
  return `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
