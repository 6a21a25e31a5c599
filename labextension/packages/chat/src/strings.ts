// Every word that the element itself says, so that a page can say it in its own language: `element.strings = {...}`.

export const ENGLISH = {
  title: "What happened?",
  subtitle: "Paste lines, drop a file, or describe what you see.",
  placeholder: "Ask, or paste what you have…",
  question: "Question",
  send: "Send",
  stop: "Stop",
  stopping: "Stopping…",
  attach: "Attach files",
  dropHere: "Drop files to attach them",
  remove: "Remove {}",
  uploading: "Uploading {}",
  attached: "{} attached",
  detached: "{} removed",
  files: "Files",
  examples: "Examples",
  conversation: "Conversation",
  you: "You asked",
  working: "Working",
  trace: "{} steps",
  stepOne: "1 step",
  earlierSteps: "{} earlier ones are in what you export.",
  seconds: "{} s",
  stopped: "Stopped.",
  failed: "This did not work.",
  retry: "Ask again",
  edit: "Edit and ask again",
  editHint: "The edited question is asked anew; the earlier answer folds away.",
  cancel: "Cancel",
  replaced: "Asked again below, edited",
  copy: "Copy",
  copied: "Copied",
  copyFailed: "Copying was not allowed",
  copyAnswer: "Copy answer",
  copyCsv: "Copy as CSV",
  copyRefanged: "Copy refanged",
  copyDefanged: "Copy as shown",
  openHint: "This address comes from the data under analysis. Opening it may tell somebody that you look.",
  address: "Address",
  table: "Table",
  code: "Code",
  mayCall: "The model wants to run your tool {} with:",
  allow: "Allow in this session",
  refuse: "Refuse",
  good: "Good answer",
  bad: "Bad answer",
  thanks: "Thank you; noted.",
  sessions: "Sessions",
  newSession: "New session",
  rename: "Rename session",
  save: "Save",
  close: "Close",
  noSessions: "No sessions yet.",
  exportMarkdown: "Export as Markdown",
  exportJson: "Export as JSON",
  timeLeft: "{} left",
  ended: "ended",
  extend: "Extend",
  extended: "The session lives for {} more.",
  fullscreen: "Full screen",
  leaveFullscreen: "Leave full screen",
  connecting: "Connecting…",
  reconnecting: "Connection lost. Coming back…",
  back: "Connected again.",
  incognito: "Not logged",
  incognitoRefused: "This key does not allow sessions that are not logged: what you ask here is kept.",
  sessionGone: "The session {} is over or unknown. This is a new one.",
  sessionEnded: "This session is over. Your next question starts a new one.",
  keyTitle: "API key",
  keyHint: "It stays in this page's memory and goes to {} alone.",
  keyWrong: "The service does not take this key.",
  keyUse: "Use key",
  tryAgain: "Try again",
  picture: "Picture",
  answerReady: "Answer ready. {}",
};

export type Strings = Readonly<Record<keyof typeof ENGLISH, string>>;

/** The text with its gap filled. */
export function fill(text: string, value: string | number): string {
  return text.replace("{}", () => String(value));
}

/** A length of time in the two units that matter: "23 h 5 min". */
export function duration(seconds: number): string {
  const minutes = Math.max(0, Math.floor(seconds / 60));
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function fileSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB"];
  const power = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(1)} ${units[power - 1] ?? ""}`;
}
