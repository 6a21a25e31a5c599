// While a question's cell runs: its output keeps the height that it had, so that running it again does not make the
// notebook jump, and the question stays in view, unless the user scrolls or goes elsewhere meanwhile.
import type { JupyterFrontEndPlugin } from "@jupyterlab/application";
import type { Cell } from "@jupyterlab/cells";
import { NotebookActions } from "@jupyterlab/notebook";
import type { Notebook } from "@jupyterlab/notebook";
import { usesAnalyst } from "./question-cells.js";
import { isInView } from "./sight.js";

const MOVES = ["wheel", "pointerdown", "keydown", "touchmove"] as const;
const SETTLED_MS = 300; // for the last output to be laid out

export const questionViewPlugin: JupyterFrontEndPlugin<void> = {
  id: "svc-jupyterlab:question-view",
  description: "Keeps questions of %%svc cells in view while they are answered.",
  autoStart: true,
  activate: () => {
    const running = new Map<Cell, () => void>();
    NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
      if (!usesAnalyst(cell.model.sharedModel.getSource())) return;
      running.get(cell)?.();
      running.set(cell, hold(notebook, cell));
    });
    NotebookActions.executed.connect((_, { cell }) => {
      running.get(cell)?.();
      running.delete(cell);
    });
  },
};

/** Holds the cell's place until the returned function is called. */
function hold(notebook: Notebook, cell: Cell): () => void {
  const output = cell.node.querySelector<HTMLElement>(".jp-Cell-outputWrapper");
  if (output) output.style.minHeight = `${output.offsetHeight}px`;
  let hasMoved = false;
  const move = () => {
    hasMoved = true;
  };
  const input = cell.node.querySelector<HTMLElement>(".jp-Cell-inputWrapper");
  const keep = new ResizeObserver(() => {
    if (!hasMoved && input && !isInView(input, notebook.node)) input.scrollIntoView({ block: "nearest" });
  });
  keep.observe(cell.node);
  const begin = setTimeout(() => {
    for (const name of MOVES) document.addEventListener(name, move, { capture: true, once: true });
  });
  return () => {
    if (output) output.style.minHeight = "";
    setTimeout(() => {
      keep.disconnect();
      clearTimeout(begin);
      for (const name of MOVES) document.removeEventListener(name, move, { capture: true });
    }, SETTLED_MS);
  };
}
