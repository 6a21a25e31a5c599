// The status bar's text: the session's name, its time left, the model and the activity. Pure.
import { duration, fill } from "@svc-jupyter/chat/src/strings.js";
import type { Activity, State } from "./activity.js";

const NAME_CHARACTERS = 24;

export type StatusStrings = Readonly<Record<State | "left" | "expired" | "none", string>>;

/** `now` in seconds since the epoch. */
export function statusText(activity: Activity, now: number, strings: StatusStrings): string {
  const { current: session, model, state } = activity;
  if (!session) return [strings.none, strings[state]].join(" · ");
  const parts = [shortened(session.name)];
  if (session.expire_time > 0) {
    const seconds = session.expire_time - now;
    parts.push(seconds > 0 ? fill(strings.left, duration(seconds)) : strings.expired);
  }
  parts.push(model, strings[state]);
  return parts.filter(Boolean).join(" · ");
}

function shortened(name: string): string {
  const line = name.replace(/\s+/g, " ").trim();
  return line.length > NAME_CHARACTERS ? `${line.slice(0, NAME_CHARACTERS - 1)}…` : line;
}
