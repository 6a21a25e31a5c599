// The page's theme: the user's last choice, otherwise the system's preference.

export type Theme = "light" | "dark";
const STORAGE_KEY = "svc-theme";

export function savedTheme(): Theme {
  const saved = readStorage();
  if (saved === "light" || saved === "dark") return saved;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function saveTheme(theme: Theme): void {
  try {
    localStorage.setItem(STORAGE_KEY, theme);
  } catch {
    // Storage is disabled: the choice lasts until the page is closed.
  }
}

export function nextTheme(theme: Theme): Theme {
  return theme === "dark" ? "light" : "dark";
}

function readStorage(): string | null {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}
