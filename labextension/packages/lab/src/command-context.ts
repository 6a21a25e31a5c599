// What every command needs. A module of its own: the plugin imports the commands, and they import only this.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { TranslationBundle } from "@jupyterlab/translation";
import type { KernelChat } from "./kernel-chat.js";

export interface CommandContext {
  readonly app: JupyterFrontEnd;
  readonly chat: KernelChat;
  readonly trans: TranslationBundle;
}
