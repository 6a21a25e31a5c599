// The service's web page: the chat, signed in by `svc open` or with an API key, and the user's keys.
// The key is kept in this script's memory and the element's attribute only: never in a URL, a cookie or storage. A ticket
// keeps the tab signed in over a reload (reload.ts).

import type {} from "@svc-jupyter/chat"; // the types of the element and its events; the page loads swc.iife.js
import { examplesFor } from "@svc-jupyter/chat/src/examples.js";
import { make } from "./elements.js";
import { openKeyView } from "./key-view.js";
import { Keys, RefusedError } from "./keys.js";
import { keepTicket, keptTicket, resume } from "./reload.js";
import { readStart } from "./start.js";
import { nextTheme, savedTheme, saveTheme, type Theme } from "./theme.js";

const INVALID_KEY = "This key is invalid or has expired.";
const baseUrl = new URL(".", document.baseURI).href.replace(/\/$/, "");
const start = readStart(document);
const main = make("main");
const user = make("span", { className: "user" });
const actions = make("nav", { ariaLabel: "Account" });
let theme = savedTheme();
let leaving = new AbortController();

// After a form's POST: a reload must not send the sign-in code again.
history.replaceState(null, "", location.pathname + location.hash);
const toggle = make("button", {
  type: "button",
  onclick: () => {
    show((theme = nextTheme(theme)));
  },
});
document.body.append(
  make("header", { className: "bar" }, make("h1", { textContent: "svc" }), user, actions, toggle),
  main,
);
show(theme);
void begin();

async function begin(): Promise<void> {
  const kept = start.apiKey || start.notice ? "" : keptTicket();
  if (kept) main.replaceChildren(make("p", { className: "wait", role: "status", textContent: "Signing in…" }));
  const { apiKey, ticket, notice } = kept
    ? await resume(baseUrl, kept).catch(() => ({ ...start, ticket: kept }))
    : start;
  keepTicket(ticket);
  if (apiKey) await signIn(apiKey);
  else askForKey(notice);
}

function show(chosen: Theme): void {
  saveTheme(chosen);
  document.documentElement.dataset["theme"] = chosen;
  document.querySelector("svc-chat")?.setAttribute("theme", chosen);
  toggle.textContent = chosen === "dark" ? "Light" : "Dark";
  toggle.ariaLabel = `Switch to the ${nextTheme(chosen)} theme`;
}

async function signIn(apiKey: string): Promise<void> {
  leaving = new AbortController();
  const keys = new Keys(baseUrl, apiKey);
  main.replaceChildren(make("p", { className: "wait", role: "status", textContent: "Signing in…" }));
  try {
    user.textContent = await keys.user(leaving.signal);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    if (error.status === 401) keepTicket("");
    askForKey(error.status === 401 ? INVALID_KEY : error.message);
    return;
  }
  const chat = document.createElement("svc-chat");
  chat.setAttribute("base-url", baseUrl);
  chat.setAttribute("api-key", apiKey);
  chat.setAttribute("theme", theme);
  chat.suggest = examplesFor;
  if (location.hash.length > 1) chat.setAttribute("session-id", decodeURIComponent(location.hash.slice(1)));
  chat.addEventListener("svc-session", ({ detail }) => {
    rememberSession(detail.sessionId);
  });
  chat.addEventListener("svc-error", ({ detail }) => {
    if (detail.code === "invalid_api_key") signOut(INVALID_KEY);
  });
  main.replaceChildren(chat);
  const open = make("button", { type: "button", textContent: "API keys" });
  open.onclick = () => {
    openKeyView(document.body, {
      keys,
      onsignout: () => {
        signOut(INVALID_KEY);
      },
    });
  };
  const out = make("button", { type: "button", textContent: "Sign out" });
  out.onclick = () => {
    void endPageKey(keys).finally(() => {
      signOut("You are signed out.");
    });
  };
  actions.replaceChildren(open, out);
}

/** Puts the session into the address, so that a reload returns to it once signed in. */
function rememberSession(id: string): void {
  history.replaceState(null, "", `${location.pathname}#${encodeURIComponent(id)}`);
}

/** Revokes the key that `svc open` made for this page; a key that the user typed stays valid. */
async function endPageKey(keys: Keys): Promise<void> {
  const own = (await keys.list(leaving.signal)).find((key) => key.is_asking && key.is_page);
  if (own !== undefined) await keys.revoke(own.id, leaving.signal);
}

function signOut(notice: string): void {
  leaving.abort();
  keepTicket("");
  history.replaceState(null, "", location.pathname);
  askForKey(notice);
}

function askForKey(notice: string): void {
  user.textContent = "";
  actions.replaceChildren();
  const field = make("input", {
    type: "password",
    name: "key",
    autocomplete: "off",
    required: true,
    spellcheck: false,
  });
  const form = make(
    "form",
    { className: "sign-in" },
    make("h2", { textContent: "Sign in" }),
    make("p", { className: "notice", role: "alert", textContent: notice }),
    make(
      "p",
      {},
      "On the machine that runs the service, ",
      make("code", { textContent: "svc open" }),
      " opens this page signed in.",
    ),
    make("label", {}, "Or enter an API key", field),
    make("p", {
      className: "hint",
      textContent: "It is kept in this page's memory until the page is closed or reloaded.",
    }),
    make("button", { type: "submit", className: "primary", textContent: "Sign in" }),
  );
  form.onsubmit = (event) => {
    event.preventDefault();
    void signIn(field.value.trim());
  };
  main.replaceChildren(form);
  field.focus();
}
