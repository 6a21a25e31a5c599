// What of a notebook is on screen.
import type { NotebookPanel } from "@jupyterlab/notebook";
import { usesAnalyst } from "./question-cells.js";

/** The rectangle of the notebook that scrolls. */
export function viewportOf(notebook: HTMLElement): DOMRect {
  return (notebook.querySelector(".jp-WindowedPanel-outer") ?? notebook).getBoundingClientRect();
}

/** Whether a part of the node is on screen. */
export function isInView(node: Element, notebook: HTMLElement): boolean {
  const { top, bottom, height } = node.getBoundingClientRect();
  const view = viewportOf(notebook);
  return height > 0 && bottom > view.top && top < view.bottom;
}

/** Whether the user sees an answer that arrives now: below the cell that asks, or in a chat panel of the notebook. */
export function isAnswerInView({ isVisible, content }: NotebookPanel): boolean {
  if (!isVisible || document.hidden) return false;
  const asking = content.widgets
    .filter(({ node, model }) => isRunning(node) && usesAnalyst(model.sharedModel.getSource()))
    .map(({ node }) => node.querySelector(".jp-Cell-outputWrapper"));
  const panels = content.node.querySelectorAll("svc-chat");
  return [...asking, ...panels].some((node) => node !== null && isInView(node, content.node));
}

function isRunning(cell: HTMLElement): boolean {
  return cell.querySelector(".jp-InputPrompt")?.textContent.includes("*") ?? false;
}
