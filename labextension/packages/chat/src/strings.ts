// All texts of the element, in English. A page can translate them: `element.strings = {...}`.

export const ENGLISH = {
  title: "What happened?",
  subtitle: "Paste log lines, drop a file, or describe what you see.",
  placeholder: "Ask a question or paste evidence…",
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
  pasted: "Pasted material",
  working: "Working",
  trace: "{} steps",
  stepOne: "1 step",
  earlierSteps: "{} earlier steps are in the export.",
  seconds: "{} s",
  stopped: "Stopped.",
  failed: "Something went wrong.",
  partialAnswer: "Partial answer: stopped before all evidence was read",
  partlyAnswered: "Partly answered",
  notAnswered: "Not answered",
  notExamined: "Not examined",
  answerStatus: "Status of the answer: {}",
  retry: "Ask again",
  edit: "Edit and ask again",
  editHint: "Re-runs the edited question and collapses the earlier answer.",
  cancel: "Cancel",
  replaced: "edited and asked again below",
  copy: "Copy",
  copied: "Copied",
  copyFailed: "Could not copy",
  copyAnswer: "Copy answer",
  askAbout: "Ask about this",
  insertAnswer: "Insert into the notebook",
  copyCsv: "Copy as CSV",
  copyRefanged: "Copy refanged",
  copyDefanged: "Copy as shown",
  openHint: "This address comes from the data under analysis. Opening it may alert the attacker.",
  address: "Address",
  table: "Table",
  code: "Code",
  mayCall: "The model wants to run your tool {} with:",
  noArguments: "no arguments",
  allow: "Allow this call",
  allowAll: "Allow all calls of {} in this session, with any arguments",
  deny: "Deny",
  good: "Good answer",
  bad: "Bad answer",
  thanks: "Thanks for your feedback.",
  sessions: "Sessions",
  newSession: "New session",
  rename: "Rename session",
  save: "Save",
  close: "Close",
  noSessions: "No sessions yet.",
  search: "Search sessions",
  noneFound: "No session matches.",
  exportMarkdown: "Export as Markdown",
  exportJson: "Export as JSON",
  timeLeft: "{} left",
  ended: "expired",
  extend: "Extend",
  extended: "Session extended: {} left.",
  fullscreen: "Full screen",
  leaveFullscreen: "Exit full screen",
  connecting: "Connecting…",
  reconnecting: "Connection lost. Reconnecting…",
  back: "Reconnected.",
  incognito: "Not logged",
  incognitoRefused: "This key does not allow unlogged sessions: your questions are stored.",
  sessionGone: "Session {} has expired or does not exist. This is a new session.",
  sessionEnded: "This session has ended. Your next question starts a new one.",
  keyTitle: "API key",
  keyHint: "It is kept in this page's memory only and sent to {} only.",
  keyWrong: "The service rejected this key.",
  keyUse: "Use key",
  tryAgain: "Try again",
  picture: "Picture",
  answerReady: "Answer ready. {}",
  launch: "Open the chat",
  model: "Model",
  modelOf: "Model: {}",
  originRefused:
    "The service at {} answers, but not to pages of {}. Its operator can allow them: svc serve --allowed-origins {}",
  originNone:
    "The service at {} answers, but not to pages without an origin, such as local files. Open this page over http.",
};

export type Strings = Readonly<Record<keyof typeof ENGLISH, string>>;

/** Replaces `{}` in the text. */
export function fill(text: string, value: string | number): string {
  return text.replace("{}", () => String(value));
}

/** Formats a duration in its two largest units: "23 h 5 min". */
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
