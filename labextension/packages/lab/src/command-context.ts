// What every command needs. A module of its own: the plugin imports the commands, and they import only this.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { TranslationBundle } from "@jupyterlab/translation";
import type { Svc } from "./svc.js";

export interface CommandContext {
  readonly app: JupyterFrontEnd;
  readonly svc: Svc;
  readonly trans: TranslationBundle;
}
