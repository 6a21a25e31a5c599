// What the panel says where there is no chat to show, and what to do then. Pure.
import type { TranslationBundle } from "@jupyterlab/translation";
import type { LinkState } from "./kernel-link.js";

export type Action = "open-notebook" | "choose-kernel" | "restart-kernel" | "try-again";

export interface Notice {
  readonly title: string;
  readonly text: string;
  /** What to run in a cell, or "". */
  readonly code: string;
  readonly action: Action | null;
}

/** `state` is null where there is no kernel; a chat is shown for an open link alone. */
export function noticeOf(hasNotebook: boolean, state: LinkState | null, trans: TranslationBundle): Notice {
  if (!hasNotebook) {
    const text = trans.__(
      "The chat goes with the notebook you work in: its questions and those of %%svc cells share one session.",
    );
    return notice(trans.__("No notebook is open"), text, "open-notebook");
  }
  if (!state) {
    return notice(
      trans.__("This notebook has no kernel"),
      trans.__("The kernel holds the session and the key. Choose one to go on."),
      "choose-kernel",
    );
  }
  switch (state.kind) {
    case "restarting":
      return notice(trans.__("The kernel restarts"), trans.__("The session is found again as soon as it is back."));
    case "unable":
      return unableNotice(state, trans);
    case "connecting":
      return state.isKernelBusy
        ? notice(trans.__("The kernel is busy"), trans.__("The chat connects when the cell that runs has ended."))
        : notice(trans.__("Connecting…"), "");
    default:
      return notice(trans.__("Connecting…"), "");
  }
}

function unableNotice(state: LinkState & { kind: "unable" }, trans: TranslationBundle): Notice {
  switch (state.why) {
    case "other-language":
      return notice(
        trans.__("This kernel speaks %1", state.text),
        trans.__("The analyst's session lives in a Python kernel. Choose one, or open another notebook."),
        "choose-kernel",
      );
    case "missing":
      return {
        ...notice(
          trans.__("svc-jupyter is not installed in this kernel"),
          trans.__(
            "JupyterLab has it, the Python that runs this notebook has not. Run this in a cell, then try again:",
          ),
          "try-again",
        ),
        code: "%pip install svc-jupyter",
      };
    case "old":
      return {
        ...notice(
          trans.__("svc-jupyter is too old in this kernel"),
          trans.__("Run this in a cell, restart the kernel, then try again:"),
          "try-again",
        ),
        code: "%pip install --upgrade svc-jupyter",
      };
    case "dead":
      return notice(
        trans.__("The kernel has ended"),
        trans.__("Its session lives on and is found again when the kernel is restarted."),
        "restart-kernel",
      );
    case "failed":
      return notice(trans.__("The kernel does not connect"), state.text, "try-again");
  }
}

function notice(title: string, text: string, action: Action | null = null): Notice {
  return { title, text, code: "", action };
}
