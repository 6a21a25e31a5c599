// Highlights `%%svc` cells as text rather than Python, as long as they begin with `%%svc`.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { isCodeCellModel } from "@jupyterlab/cells";
import type { ICellModel } from "@jupyterlab/cells";
import { INotebookTracker } from "@jupyterlab/notebook";
import type { Notebook } from "@jupyterlab/notebook";
import { isQuestion } from "./question-cells.js";

const TEXT = "text/x-ipythongfm"; // notebook Markdown; "text/markdown" is not highlighted in JupyterLab

export const highlightPlugin: JupyterFrontEndPlugin<void> = {
  id: "svc-jupyterlab:highlight",
  description: "Shows the questions of %%svc cells as text.",
  autoStart: true,
  requires: [INotebookTracker],
  activate: (_: JupyterFrontEnd, tracker: INotebookTracker) => {
    tracker.forEach(({ content }) => watch(content));
    tracker.widgetAdded.connect((_tracker, { content }) => watch(content));
  },
};

function watch(notebook: Notebook): void {
  const watched = new WeakSet<ICellModel>();
  const watchCells = () => {
    for (const model of notebook.model?.cells ?? []) {
      if (watched.has(model) || !isCodeCellModel(model)) continue;
      watched.add(model);
      const update = () => {
        setMimeType(model, notebook.codeMimetype);
      };
      model.contentChanged.connect(update);
      model.mimeTypeChanged.connect(update); // the notebook sets it again when the kernel's language is known
      update();
    }
  };
  const watchModel = () => {
    notebook.model?.cells.changed.connect(watchCells);
    watchCells();
  };
  notebook.modelChanged.connect(watchModel);
  watchModel();
}

function setMimeType(model: ICellModel, otherwise: string): void {
  const wanted = isQuestion(model.sharedModel.getSource()) ? TEXT : otherwise;
  const isAffected = wanted === TEXT || model.mimeType === TEXT;
  if (isAffected && model.mimeType !== wanted) model.mimeType = wanted;
}
