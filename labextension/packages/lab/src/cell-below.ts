// `%%svc … --cell`: writes the answer as a Markdown cell below the asking cell, replacing its previous answer.
// Only output that the kernel sends while the cell runs is used; opening a notebook changes nothing.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { CodeCell } from "@jupyterlab/cells";
import type { Cell } from "@jupyterlab/cells";
import { INotebookTracker } from "@jupyterlab/notebook";
import type { Notebook, NotebookPanel } from "@jupyterlab/notebook";
import { KernelMessage } from "@jupyterlab/services";
import { answerIn, mayRequestCell, indexOfAnswer } from "./cell-below-rules.js";
import type { CellAnswer } from "./cell-below-rules.js";
import { insertMarkdown, rewriteMarkdown } from "./cells.js";

export const cellBelowPlugin: JupyterFrontEndPlugin<void> = {
  id: "svc-jupyterlab:cell-below",
  description: "Writes the answers of `%%svc --cell` as Markdown cells.",
  autoStart: true,
  requires: [INotebookTracker],
  activate: (_: JupyterFrontEnd, tracker: INotebookTracker) => {
    tracker.forEach(watch);
    tracker.widgetAdded.connect((_tracker, panel) => {
      watch(panel);
    });
  },
};

function watch(panel: NotebookPanel): void {
  panel.sessionContext.iopubMessage.connect((_, message) => {
    if (KernelMessage.isExecuteInputMsg(message)) interceptAnswers(panel.content, message.parent_header);
  });
}

/** Diverts the answer of the cell that started to run from its outputs to the cell below. */
function interceptAnswers(notebook: Notebook, asked: { readonly msg_id?: string } | object): void {
  const id = "msg_id" in asked ? asked.msg_id : undefined;
  const cell = notebook.widgets.find((one): one is CodeCell => futureOf(one)?.msg.header.msg_id === id);
  if (!cell || !mayRequestCell(cell.model.sharedModel.getSource())) return;
  futureOf(cell)?.registerMessageHook((message) => {
    if (!KernelMessage.isDisplayDataMsg(message)) return true;
    const answer = answerIn(message.content);
    return !answer || !place(notebook, cell, answer);
  });
}

/** The cell's pending execution; undefined if it has not run, although its type does not say so. */
function futureOf(cell: Cell): CodeCell["outputArea"]["future"] | undefined {
  return cell instanceof CodeCell ? cell.outputArea.future : undefined;
}

/** False if the notebook cannot take the cell: then the answer is shown as an ordinary output. */
function place(notebook: Notebook, asking: CodeCell, answer: CellAnswer): boolean {
  const index = notebook.widgets.indexOf(asking);
  const { model } = notebook;
  if (!model || model.readOnly || index < 0) return false;
  const id = asking.model.sharedModel.getId();
  const { sharedModel } = model;
  const origin = { answer_of: id, turn: answer.turn };
  const known = indexOfAnswer(
    sharedModel.cells.map((cell) => (cell.cell_type === "markdown" ? cell.getMetadata("svc") : undefined)),
    id,
  );
  sharedModel.transact(() => {
    if (known < 0) insertMarkdown(notebook, index + 1, answer.source, origin);
    else rewriteMarkdown(notebook, known, answer.source, origin);
  });
  return true;
}
