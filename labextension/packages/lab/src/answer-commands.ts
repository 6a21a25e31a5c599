// Commands that insert the last answer into the notebook or copy it. The kernel returns it as Markdown that is safe to
// render anywhere, as `%%svc` writes it; the page never puts the service's raw output into a cell.
import { Clipboard, Notification } from "@jupyterlab/apputils";
import type { InsertDetail } from "@svc-jupyter/chat";
import { insertMarkdown } from "./cells.js";
import type { CommandContext } from "./command-context.js";

interface SafeAnswer {
  readonly turn: string;
  readonly markdown: string;
}

export function addAnswerCommands(context: CommandContext): string[] {
  const { app, chat, trans } = context;
  const isEnabled = () => (chat.follower.view?.activity.current ?? null) !== null;
  app.commands.addCommand("svc:insert-answer", {
    label: trans.__("Insert Last Answer Below"),
    caption: trans.__("Insert the last answer as a Markdown cell below the active cell"),
    isEnabled,
    execute: async () => {
      await withAnswer(context, insert);
    },
  });
  app.commands.addCommand("svc:copy-answer", {
    label: trans.__("Copy Last Answer"),
    caption: trans.__("Copy the last answer as Markdown"),
    isEnabled,
    execute: async () => {
      await withAnswer(context, (answer) => {
        Clipboard.copyToSystem(answer.markdown);
      });
    },
  });
  insertOnRequest(context);
  return ["svc:insert-answer", "svc:copy-answer"];
}

/** Inserts an answer whose button was pressed: below the cell of its panel, or from the sidebar below the active cell. */
function insertOnRequest(context: CommandContext): void {
  document.body.dataset.svcInserts = ""; // the panels below cells offer the button
  document.addEventListener("svc-insert", (event) => {
    const { target, detail } = event as CustomEvent<InsertDetail>;
    if (!(target instanceof HTMLElement)) return;
    const notebook = context.chat.follower.panel?.content;
    const cell = notebook?.widgets.findIndex(({ node }) => node.contains(target)) ?? -1;
    if (detail.markdown) insert(detail, context, cell < 0 ? undefined : cell);
    else Notification.warning(context.trans.__("There is no answer yet."), { autoClose: 5_000 });
  });
}

async function withAnswer(
  context: CommandContext,
  act: (answer: SafeAnswer, context: CommandContext) => void,
): Promise<void> {
  const { chat, trans } = context;
  try {
    const answer = (await chat.follower.view?.request("answer")) as Partial<SafeAnswer> | null | undefined;
    if (answer?.markdown) act({ turn: answer.turn ?? "", markdown: answer.markdown }, context);
    else Notification.warning(trans.__("There is no answer yet."), { autoClose: 5_000 });
  } catch (error) {
    Notification.error(error instanceof Error ? error.message : String(error), { autoClose: 10_000 });
  }
}

function insert({ turn, markdown }: SafeAnswer, { chat }: CommandContext, above?: number): void {
  const notebook = chat.follower.panel?.content;
  if (!notebook) return;
  const index = (above ?? notebook.activeCellIndex) + 1;
  notebook.mode = "command"; // a cell in edit mode is not rendered
  insertMarkdown(notebook, index, markdown, { turn });
  notebook.activeCellIndex = index;
  void notebook.scrollToItem(index);
}
