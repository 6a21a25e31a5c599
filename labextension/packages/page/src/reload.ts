// Keeps the tab signed in over a reload: its session storage has a ticket, with which the service gives the page's key
// again. The key itself is never stored. Without storage, a reload signs out.

import type { StartData } from "./start.js";

const NAME = "svc-page-ticket";

/** Remembers the ticket; "" forgets it. */
export function keepTicket(ticket: string): void {
  try {
    if (ticket) sessionStorage.setItem(NAME, ticket);
    else sessionStorage.removeItem(NAME);
  } catch {
    // Storage is disabled: a reload signs out.
  }
}

export function keptTicket(): string {
  try {
    return sessionStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

/** The key and the next ticket for this ticket; an empty key and a notice if the sign-in has ended. */
export async function resume(baseUrl: string, ticket: string): Promise<StartData> {
  const request: RequestInit = { method: "POST", cache: "no-store", credentials: "omit", redirect: "error" };
  const reply = await fetch(`${baseUrl}/page/resume`, { ...request, body: new URLSearchParams({ ticket }) });
  const found = (await reply.json()) as { api_key?: unknown; ticket?: unknown };
  if (reply.ok && typeof found.api_key === "string" && typeof found.ticket === "string")
    return { apiKey: found.api_key, ticket: found.ticket, notice: "" };
  return { apiKey: "", ticket: "", notice: "This page's sign-in has ended. Run `svc open` again, or enter a key." };
}
