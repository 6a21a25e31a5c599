// Registers the commands, in the palette and the launcher. Menus, toolbars and shortcuts are in schema/panel.json.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { IDocumentManager } from "@jupyterlab/docmanager";
import { ILauncher } from "@jupyterlab/launcher";
import { ITranslator, nullTranslator } from "@jupyterlab/translation";
import { addAnswerCommands } from "./answer-commands.js";
import { addAskCommands } from "./ask-commands.js";
import type { CommandContext } from "./command-context.js";
import { analystIcon } from "./icon.js";
import { addReportCommand } from "./report-command.js";
import { addSessionCommands } from "./session-commands.js";
import { KernelChatToken } from "./kernel-chat.js";
import type { KernelChat } from "./kernel-chat.js";

export const commandsPlugin: JupyterFrontEndPlugin<void> = {
  id: "svc-jupyterlab:commands",
  description: "Commands to ask about a cell, insert answers into the notebook, and manage the session.",
  autoStart: true,
  requires: [KernelChatToken],
  optional: [IDocumentManager, ICommandPalette, ILauncher, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    chat: KernelChat,
    documents: IDocumentManager | null,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    translator: ITranslator | null,
  ) => {
    const trans = (translator ?? nullTranslator).load("svc_jupyterlab");
    const context: CommandContext = { app, chat, trans };
    const names = [
      ...addOpenCommands(context),
      ...addAskCommands(context),
      ...addAnswerCommands(context),
      ...addSessionCommands(context),
      ...(documents ? [addReportCommand(context, documents)] : []),
    ];
    for (const command of names) palette?.addItem({ command, category: trans.__("Svc: security analyst") });
    launcher?.add({ command: "svc:open", category: trans.__("Other"), rank: 90 });
  },
};

function addOpenCommands({ app, chat, trans }: CommandContext): string[] {
  app.commands.addCommand("svc:open", {
    label: trans.__("Security Analyst"),
    caption: trans.__("Show the chat of this notebook's kernel"),
    icon: analystIcon,
    execute: () => void chat.open(),
  });
  app.commands.addCommand("svc:toggle", {
    label: trans.__("Show or Hide the Security Analyst"),
    caption: trans.__("Go to the chat, or from the chat back to the notebook"),
    execute: () => void chat.toggle(),
  });
  return ["svc:open", "svc:toggle"];
}
