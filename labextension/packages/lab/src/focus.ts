// The keyboard's way between the notebook and its chats: the shortcut opens the chat and closes it again, Escape returns to
// the notebook.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { INotebookTracker } from "@jupyterlab/notebook";
import type { ChatPanel } from "./chat-panel.js";

/** Hides the sidebar and returns to the notebook. */
export function leaveChat({ shell, commands }: JupyterFrontEnd, tracker: INotebookTracker): void {
  const { collapseRight } = shell as { collapseRight?: () => void }; // JupyterLab's shell
  if (collapseRight) collapseRight.call(shell);
  else void commands.execute("application:toggle-panel", { side: "right" }); // Notebook's
  focusNotebook(tracker);
}

const FULL = `svc-chat[is-fullscreen="true"], :has(svc-chat[is-fullscreen="true"])`;

/** Escape in a chat that has nothing to close returns to the notebook around it, or to the current one. */
export function returnOnEscape(panel: ChatPanel, tracker: INotebookTracker): void {
  document.addEventListener("keydown", (event) => {
    const { key, target, defaultPrevented, isComposing } = event;
    if (key !== "Escape" || defaultPrevented || isComposing || !(target instanceof HTMLElement)) return;
    if (target.localName !== "svc-chat" && !panel.node.contains(target)) return;
    if (target.matches(FULL)) return; // the element leaves the full screen, at the window, after this
    event.preventDefault();
    focusNotebook(tracker, target);
  });
}

function focusNotebook(tracker: INotebookTracker, inside: HTMLElement | null = null): void {
  const around = tracker.find(({ node }) => node.contains(inside)) ?? tracker.currentWidget;
  if (!around) return;
  around.content.mode = "command";
  around.content.activate();
  around.content.node.focus();
}
