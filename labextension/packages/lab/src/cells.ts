// Reads notebook cells as text, and writes Markdown cells.
import { CodeCell, isCodeCellModel, MarkdownCell } from "@jupyterlab/cells";
import type { Cell } from "@jupyterlab/cells";
import type { Notebook, NotebookPanel } from "@jupyterlab/notebook";
import { textOfOutputs } from "./prompts.js";
import type { CellText } from "./prompts.js";

/** The metadata of a Markdown cell written by this extension, under the key "svc". */
export interface Origin {
  readonly answer_of?: string;
  readonly turn: string;
}

export function textOf(cell: Cell): CellText {
  const { model } = cell;
  const source = model.sharedModel.getSource();
  if (!isCodeCellModel(model)) return { number: null, source, output: "", error: "" };
  return { number: model.executionCount, source, ...textOfOutputs(model.outputs.toJSON()) };
}

export function hasOutput(cell: Cell | null): boolean {
  return cell instanceof CodeCell && cell.model.outputs.length > 0;
}

export function hasError(cell: Cell | null): boolean {
  if (!(cell instanceof CodeCell)) return false;
  const { outputs } = cell.model;
  return Array.from({ length: outputs.length }, (_, i) => outputs.get(i).type).includes("error");
}

/** The text selected in the cell's editor, or elsewhere in the notebook. */
export function selectionIn(panel: NotebookPanel): string {
  const editor = panel.content.activeCell?.editor;
  if (editor) {
    const { start, end } = editor.getSelection();
    const [from, to] = [editor.getOffsetAt(start), editor.getOffsetAt(end)].sort((one, other) => one - other);
    const marked = editor.model.sharedModel.getSource().slice(from, to);
    if (marked.trim()) return marked;
  }
  const selection = window.getSelection();
  return selection?.anchorNode && panel.node.contains(selection.anchorNode) ? selection.toString() : "";
}

/** Inserts a rendered Markdown cell. */
export function insertMarkdown(notebook: Notebook, index: number, source: string, origin: Origin): void {
  const metadata = { svc: { ...origin } };
  notebook.model?.sharedModel.insertCell(index, { cell_type: "markdown", source, metadata });
  render(notebook, index);
}

/** Replaces the text of a Markdown cell. */
export function rewriteMarkdown(notebook: Notebook, index: number, source: string, origin: Origin): void {
  const cell = notebook.model?.sharedModel.getCell(index);
  cell?.setSource(source);
  cell?.setMetadata("svc", { ...origin });
  render(notebook, index);
}

function render(notebook: Notebook, index: number): void {
  const cell = notebook.widgets[index];
  if (cell instanceof MarkdownCell) cell.rendered = true;
}
