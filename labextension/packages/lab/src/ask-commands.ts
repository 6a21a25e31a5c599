// "Ask about this …": writes a question with its context into the chat, for the user to edit and send. With the argument
// `send`, which a user's own shortcut can set, the question is sent at once.
import type { Cell } from "@jupyterlab/cells";
import { hasError, hasOutput, selectionIn, textOf } from "./cells.js";
import type { CommandContext } from "./command-context.js";
import { analystIcon } from "./icon.js";
import { compose } from "./prompts.js";
import type { Prompt, PromptTexts, Subject } from "./prompts.js";

export function addAskCommands(context: CommandContext): string[] {
  const { app, trans } = context;
  const labels: Readonly<Record<Subject, string>> = {
    cell: trans.__("Ask About This Cell"),
    output: trans.__("Ask About This Output"),
    error: trans.__("Ask About This Error"),
    selection: trans.__("Ask About the Selection"),
  };
  return (Object.keys(labels) as Subject[]).map((subject) => {
    const command = `svc:ask-${subject}`;
    app.commands.addCommand(command, {
      label: labels[subject],
      caption: labels[subject],
      ...(subject === "cell" && { icon: analystIcon }),
      isEnabled: () => hasSubject(subject, activeCell(context)),
      execute: async ({ send }) => {
        await ask(subject, context, send === true);
      },
    });
    return command;
  });
}

function activeCell({ chat }: CommandContext): Cell | null {
  return chat.follower.panel?.content.activeCell ?? null;
}

/** Must be cheap: menus call it often. */
function hasSubject(subject: Subject, cell: Cell | null): boolean {
  if (subject === "output") return hasOutput(cell);
  if (subject === "error") return hasError(cell);
  return cell !== null;
}

async function ask(subject: Subject, context: CommandContext, isSent: boolean): Promise<void> {
  const { chat, trans } = context;
  const { panel } = chat.follower;
  const cell = activeCell(context);
  if (!panel || !cell) return;
  const prompt = compose(subject, textOf(cell), selectionIn(panel), texts(context));
  const view = await chat.open();
  if (!view) return;
  if (!prompt) {
    view.element.write(subject === "selection" ? trans.__("What does this say? ") : "");
    return;
  }
  attachFile(prompt, (files) => {
    view.element.attach(files);
  });
  if (isSent) view.element.ask(prompt.text);
  else view.element.write(prompt.text);
}

function attachFile({ file }: Prompt, attach: (files: File[]) => void): void {
  if (file) attach([new File([file.content], file.name, { type: "text/plain" })]);
}

function texts({ trans }: CommandContext): PromptTexts {
  return {
    cell: trans.__("What does this do, and is anything in it suspicious?"),
    output: trans.__("What does this show, and is anything in it suspicious?"),
    error: trans.__("Why did this fail, and what should I do?"),
    selection: trans.__("What is this, and is it suspicious?"),
    attached: trans.__("See the attached file {}."),
  };
}
