// The token that the plugins share: the current kernel's chat, and how to show it.
import { Token } from "@lumino/coreutils";
import type { ChatPanel } from "./chat-panel.js";
import type { Follower } from "./follower.js";
import type { KernelView } from "./kernel-view.js";

export interface KernelChat {
  readonly follower: Follower;
  readonly panel: ChatPanel;
  /**
   * Shows the chat; resolves with it when it is connected, or with null if it shows a notice why it is not. The user
   * may connect it meanwhile.
   */
  open(): Promise<KernelView | null>;
  /** Shows the chat and puts the cursor into it; if it is there, hides the chat and returns to the notebook. */
  toggle(): Promise<void>;
}

export const KernelChatToken = new Token<KernelChat>(
  "svc-jupyterlab:KernelChat",
  "The chat of the current notebook's kernel.",
);

const PATIENCE_MS = 15_000; // after that, the panel has shown that the kernel is busy

/** Resolves when the current kernel's chat is connected, or null if it will not be. */
export async function whenOpen(follower: Follower): Promise<KernelView | null> {
  const { view: wanted } = follower;
  return await new Promise((resolve) => {
    const finish = (view: KernelView | null) => {
      clearTimeout(timer);
      follower.changed.disconnect(look);
      resolve(view);
    };
    const look = () => {
      const { view } = follower;
      if (view !== wanted)
        finish(null); // another notebook came to the front
      else if (view?.isOpen) finish(view);
      else if (!view || view.link.state.kind === "unavailable") finish(null);
    };
    const timer = setTimeout(() => finish(null), PATIENCE_MS);
    follower.changed.connect(look);
    look();
  });
}
