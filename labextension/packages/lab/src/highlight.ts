// A `%%svc` cell is a question, so its words are not coloured as Python. Its type goes back when the first line does.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { isCodeCellModel } from "@jupyterlab/cells";
import type { ICellModel } from "@jupyterlab/cells";
import { INotebookTracker } from "@jupyterlab/notebook";
import type { Notebook } from "@jupyterlab/notebook";
import { isQuestion } from "./question-cells.js";

const TEXT = "text/x-ipythongfm"; // Markdown as notebooks have it; "text/markdown" is plain text in JupyterLab

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
      const look = () => {
        colour(model, notebook.codeMimetype);
      };
      model.contentChanged.connect(look);
      model.mimeTypeChanged.connect(look); // the notebook sets it anew when the kernel's language is known
      look();
    }
  };
  const watchModel = () => {
    notebook.model?.cells.changed.connect(watchCells);
    watchCells();
  };
  notebook.modelChanged.connect(watchModel);
  watchModel();
}

function colour(model: ICellModel, otherwise: string): void {
  const wanted = isQuestion(model.sharedModel.getSource()) ? TEXT : otherwise;
  const isOurs = wanted === TEXT || model.mimeType === TEXT;
  if (isOurs && model.mimeType !== wanted) model.mimeType = wanted;
}
