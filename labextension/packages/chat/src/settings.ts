// Reads the attributes. Pure. HTML lower-cases names, so `sessionId` arrives as `sessionid`: both spellings are accepted.

export interface Example {
  readonly title: string;
  readonly prompt: string;
}

export interface Settings {
  readonly apiKey: string;
  readonly incognito: boolean;
  readonly sessionId: string;
  readonly sessionName: string;
  readonly sessionDescription: string;
  readonly sessionPrompt: string;
  readonly theme: "light" | "dark";
  readonly isFullscreen: boolean;
  readonly launcher: boolean;
  readonly model: string;
  readonly examples: readonly Example[];
  readonly baseUrl: string;
  readonly wsUrl: string;
}

export const DEFAULT_NAME = "New Session";

export const ATTRIBUTES = [
  "api-key",
  "incognito",
  "session-id",
  "session-name",
  "session-description",
  "session-prompt",
  "theme",
  "is-fullscreen",
  "launcher",
  "model",
  "examples",
  "base-url",
  "ws-url",
] as const;
export type AttributeName = (typeof ATTRIBUTES)[number];

/** Every attribute, in both spellings. */
export const OBSERVED_ATTRIBUTES = [...new Set(ATTRIBUTES.flatMap((name) => [name, name.replaceAll("-", "")]))];

/** The canonical name of an observed attribute. */
export function attributeName(attribute: string): AttributeName | undefined {
  return ATTRIBUTES.find((name) => name === attribute || name.replaceAll("-", "") === attribute);
}

/** `scriptOrigin` is the origin of the service that served the element, or "". */
export function readSettings(attribute: (name: string) => string | null, scriptOrigin: string): Settings {
  const text = (name: AttributeName) => attribute(name) ?? attribute(name.replaceAll("-", "")) ?? "";
  const flag = (name: AttributeName) => {
    const value = attribute(name) ?? attribute(name.replaceAll("-", ""));
    return value !== null && !["false", "0", "no", "off"].includes(value.trim().toLowerCase());
  };
  const baseUrl = (text("base-url").trim() || scriptOrigin).replace(/\/+$/, "");
  return {
    apiKey: text("api-key").trim(),
    incognito: flag("incognito"),
    sessionId: text("session-id").trim(),
    sessionName: text("session-name").trim() || DEFAULT_NAME,
    sessionDescription: text("session-description"),
    sessionPrompt: text("session-prompt"),
    theme: text("theme").trim().toLowerCase() === "dark" ? "dark" : "light",
    isFullscreen: flag("is-fullscreen"),
    launcher: flag("launcher"),
    model: text("model").trim(),
    examples: readExamples(text("examples")),
    baseUrl,
    wsUrl: text("ws-url").trim(),
  };
}

/** The complete examples; none if the text is not a JSON array. */
function readExamples(json: string): Example[] {
  let value: unknown;
  try {
    value = JSON.parse(json || "[]");
  } catch {
    return [];
  }
  return Array.isArray(value) ? value.filter(isExample) : [];
}

function isExample(value: unknown): value is Example {
  const { title, prompt } = (value ?? {}) as Partial<Record<string, unknown>>;
  return typeof title === "string" && typeof prompt === "string";
}
