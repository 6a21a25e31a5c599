// The page's theme: what was chosen last, else what the system prefers.

export type Theme = "light" | "dark";
const PLACE = "svc-theme";

export function savedTheme(): Theme {
  const saved = readStorage();
  if (saved === "light" || saved === "dark") return saved;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function saveTheme(theme: Theme): void {
  try {
    localStorage.setItem(PLACE, theme);
  } catch {
    // Storage is switched off: the choice holds until the page is closed.
  }
}

export function nextTheme(theme: Theme): Theme {
  return theme === "dark" ? "light" : "dark";
}

function readStorage(): string | null {
  try {
    return localStorage.getItem(PLACE);
  } catch {
    return null;
  }
}
