// Attaches files dragged from the file browser onto the chat: by path if the kernel can read them below the notebook's
// folder, otherwise by content.
import { PathExt } from "@jupyterlab/coreutils";
import type { Contents } from "@jupyterlab/services";
import type { TranslationBundle } from "@jupyterlab/translation";
import type { Drag } from "@lumino/dragdrop";
import type { KernelView } from "./kernel-view.js";
import { fromNotebook } from "./paths.js";

const FILES = "application/x-jupyter-icontents"; // the MIME type of the file browser's list of paths
const LIMIT_BYTES = 64 * 1_048_576; // the chat's limit: the page holds the whole file in memory

export interface DropTarget {
  /** The chat that receives the files, or null. */
  readonly view: KernelView | null;
  readonly notebookPath: string;
}

export interface FileDrops {
  readonly contents: Contents.IManager;
  readonly trans: TranslationBundle;
  target(): DropTarget;
  failed(text: string): void;
}

export function acceptDrops(node: HTMLElement, drops: FileDrops): void {
  const mark = (isOver: boolean) => node.classList.toggle("svc-mod-dropping", isOver);
  node.dataset.drop = drops.trans.__("Drop files to attach them");
  showDropZone(node, drops);
  for (const name of ["lm-dragenter", "lm-dragover"]) {
    node.addEventListener(name, (event) => {
      const drag = event as Drag.Event;
      if (!drag.mimeData.hasData(FILES) || !drops.target().view) return;
      event.preventDefault();
      event.stopPropagation();
      drag.dropAction = drag.proposedAction;
      mark(true);
    });
  }
  node.addEventListener("lm-dragleave", () => mark(false));
  node.addEventListener("lm-drop", (event) => {
    const drag = event as Drag.Event;
    mark(false);
    const paths: unknown = drag.mimeData.getData(FILES);
    const { view, notebookPath } = drops.target();
    if (!Array.isArray(paths) || !view) return;
    event.preventDefault();
    event.stopPropagation();
    drag.dropAction = "copy";
    for (const path of paths.filter((one) => typeof one === "string")) {
      attach(path, view, notebookPath, drops).catch((error: unknown) => {
        drops.failed(error instanceof Error ? error.message : String(error));
      });
    }
  });
}

/** Marks the chat as a target from the first move of a drag anywhere in JupyterLab to its end. */
function showDropZone(node: HTMLElement, drops: FileDrops): void {
  const mark = (isDragged: boolean) => node.classList.toggle("svc-mod-droppable", isDragged);
  document.addEventListener(
    "lm-dragenter",
    (event) => {
      if ((event as Drag.Event).mimeData.hasData(FILES)) mark(drops.target().view !== null);
    },
    true,
  );
  for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, () => mark(false), true);
  window.addEventListener("keydown", ({ key }) => key === "Escape" && mark(false), true);
}

/** Attaches one file. Rejects with an error message for users. */
export async function attach(path: string, view: KernelView, notebook: string, drops: FileDrops): Promise<void> {
  const { contents, trans } = drops;
  const known = await contents.get(path, { content: false });
  if (known.type === "directory") throw new Error(trans.__("%1 is a folder. Drag the files inside it instead.", path));
  const below = fromNotebook(path, notebook);
  if (below !== null && (await attachByPath(view, below))) return;
  if ((known.size ?? 0) > LIMIT_BYTES) {
    throw new Error(
      trans.__("%1 is larger than 64 MiB. Save it next to the notebook and attach it with %svc --attach.", path),
    );
  }
  const file = await contents.get(path, { content: true, type: "file", format: "base64" });
  view.element.attach([new File([bytesOf(String(file.content))], PathExt.basename(path), { type: known.mimetype })]);
}

/** False if the kernel cannot read the path, for example because its working folder is not the notebook's. */
async function attachByPath(view: KernelView, path: string): Promise<boolean> {
  return await view.request("attach", { path }).then(
    () => true,
    () => false,
  );
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64.replace(/\s+/g, "")), (character) => character.charCodeAt(0));
}
