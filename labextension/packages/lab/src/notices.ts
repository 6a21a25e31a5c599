// The notice that the panel shows if there is no chat, with the suggested action, and the text of a notification. Pure.
import type { TranslationBundle } from "@jupyterlab/translation";
import type { TurnSummary } from "./activity.js";
import type { LinkState } from "./kernel-link.js";

export type Action = "open-notebook" | "choose-kernel" | "restart-kernel" | "connect" | "try-again";

export interface Notice {
  readonly title: string;
  readonly text: string;
  /** What to run in a cell, or "". */
  readonly code: string;
  readonly action: Action | null;
}

/** `state` is null if there is no kernel. An open link needs no notice: its chat is shown. */
export function noticeOf(hasNotebook: boolean, state: LinkState | null, trans: TranslationBundle): Notice {
  if (!hasNotebook) {
    const text = trans.__(
      "The chat follows the active notebook. Its questions and those of %%svc cells share one session.",
    );
    return notice(trans.__("No notebook is open"), text, "open-notebook");
  }
  if (!state) {
    return notice(
      trans.__("This notebook has no kernel"),
      trans.__("The kernel holds the session and the key. Choose a kernel to continue."),
      "choose-kernel",
    );
  }
  switch (state.kind) {
    case "restarting":
      return notice(trans.__("The kernel is restarting"), trans.__("The chat reconnects to its session afterwards."));
    case "unavailable":
      return unavailableNotice(state, trans);
    case "connecting":
      return state.isKernelBusy
        ? notice(
            trans.__("The kernel is busy"),
            trans.__(
              "The chat connects when the running cell has finished. Questions that wait in the kernel are kept.",
            ),
          )
        : notice(trans.__("Connecting…"), "");
    case "off":
      return notice(
        trans.__("The chat is not connected to this notebook's kernel"),
        trans.__("Connecting loads svc-jupyter in the kernel. The chat connects by itself when you run a cell."),
        "connect",
      );
    default:
      return notice(trans.__("Connecting…"), "");
  }
}

/** What a notification says of a turn that ended, and whether it is good news. */
export function notificationOf(
  { isAnswered, status }: TurnSummary,
  time: string,
  question: string,
  trans: TranslationBundle,
): { text: string; isGood: boolean } {
  if (!isAnswered) return { text: trans.__("No answer after %1: %2", time, question), isGood: false };
  switch (status) {
    case "not_examined":
      return { text: trans.__("Not examined, after %1: %2", time, question), isGood: false };
    case "not_answered":
      return { text: trans.__("Not answered, after %1: %2", time, question), isGood: false };
    case "partly_answered":
      return { text: trans.__("Partly answered after %1: %2", time, question), isGood: true };
    default:
      return { text: trans.__("Answered after %1: %2", time, question), isGood: true };
  }
}

function unavailableNotice(state: LinkState & { kind: "unavailable" }, trans: TranslationBundle): Notice {
  switch (state.reason) {
    case "other-language":
      return notice(
        trans.__("This is not a Python kernel (%1)", state.text),
        trans.__("The analyst needs a Python kernel. Choose one, or open another notebook."),
        "choose-kernel",
      );
    case "missing":
      return {
        ...notice(
          trans.__("svc-jupyter is not installed in this notebook's environment"),
          trans.__(
            "JupyterLab has it, but the Python environment of this kernel does not. Run this in a cell, then try again:",
          ),
          "try-again",
        ),
        code: "%pip install svc-jupyter",
      };
    case "old":
      return {
        ...notice(
          trans.__("svc-jupyter is outdated in this notebook's environment"),
          trans.__("Run this in a cell, restart the kernel, then try again:"),
          "try-again",
        ),
        code: "%pip install --upgrade svc-jupyter",
      };
    case "folder":
      return notice(trans.__("Nothing was loaded from this notebook's folder"), state.text, "try-again");
    case "dead":
      return notice(
        trans.__("The kernel was shut down"),
        trans.__("The session still exists; the chat reconnects to it when you restart the kernel."),
        "restart-kernel",
      );
    case "failed":
      return notice(trans.__("Could not connect to the kernel"), state.text, "try-again");
  }
}

function notice(title: string, text: string, action: Action | null = null): Notice {
  return { title, text, code: "", action };
}
