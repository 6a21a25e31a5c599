// Reads the settings form. Pure. The API key is never a setting.
import type { Defaults } from "./kernel-view.js";

export type Theme = "auto" | "light" | "dark";

export interface Settings {
  readonly defaults: Defaults;
  readonly theme: Theme;
  /** 0 means never. */
  readonly notifySeconds: number;
}

export function readSettings(form: Readonly<Record<string, unknown>>): Settings {
  const text = (name: string) => (typeof form[name] === "string" ? form[name].trim() : "");
  const { theme, notify_seconds: seconds, log_session: isLogged } = form;
  return {
    defaults: {
      model: text("model"),
      language: text("language"),
      log_session: isLogged !== false,
      base_url: text("base_url"),
    },
    theme: theme === "light" || theme === "dark" ? theme : "auto",
    notifySeconds: typeof seconds === "number" && seconds >= 0 ? seconds : 30,
  };
}
