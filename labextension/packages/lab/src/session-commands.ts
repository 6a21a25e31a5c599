// Commands for sessions: new, resume, extend, stop. The kernel does the work and notifies the chat and the status bar.
import { InputDialog, Notification } from "@jupyterlab/apputils";
import type { ChatSession } from "@svc-jupyter/chat";
import { duration } from "@svc-jupyter/chat/src/strings.js";
import { oneLine } from "@svc-jupyter/chat/src/untrusted.js";
import type { CommandContext } from "./command-context.js";
import type { KernelView } from "./kernel-view.js";

export function addSessionCommands(context: CommandContext): string[] {
  const { app, chat, trans } = context;
  const view = () => chat.follower.view;
  const add = (command: string, label: string, isEnabled: () => boolean, act: (view: KernelView) => Promise<void>) => {
    app.commands.addCommand(command, {
      label,
      caption: label,
      isEnabled,
      execute: async () => {
        const target = view()?.isOpen ? view() : await chat.open();
        await (target && act(target))?.catch((error: unknown) => {
          Notification.error(error instanceof Error ? error.message : String(error), { autoClose: 10_000 });
        });
      },
    });
    return command;
  };
  const hasNotebook = () => chat.follower.panel !== null;
  const hasSession = () => (view()?.activity.current ?? null) !== null;
  const isBusy = () => (view()?.activity.state ?? "idle") !== "idle";
  return [
    add("svc:new-session", trans.__("New Session"), hasNotebook, async (target) => {
      await target.request("new");
      await chat.open();
    }),
    add("svc:resume-session", trans.__("Resume a Session…"), hasNotebook, (target) => resume(target, context)),
    add("svc:extend-session", trans.__("Extend the Session"), hasSession, (target) => extend(target, context)),
    add("svc:stop", trans.__("Stop the Analyst"), isBusy, async (target) => {
      await target.request("cancel"); // any running question, including one from a cell
    }),
  ];
}

async function resume(view: KernelView, { chat, trans }: CommandContext): Promise<void> {
  const sessions = (await view.request("list")) as readonly ChatSession[];
  if (sessions.length === 0) {
    Notification.info(trans.__("There are no sessions yet."), { autoClose: 5_000 });
    return;
  }
  const now = Date.now() / 1000;
  const items = sessions.map((session) => rowOf(session, now));
  const current = sessions.findIndex(({ id }) => id === view.activity.current?.id);
  const { button, value } = await InputDialog.getItem({
    title: trans.__("Resume a session"),
    label: trans.__("The kernel and the chat continue with this session."),
    items,
    current: Math.max(0, current),
    okLabel: trans.__("Resume"),
  });
  const chosen = sessions[items.indexOf(value ?? "")];
  if (!button.accept || !chosen) return;
  await view.request("open", { session_id: chosen.id, history: false });
  await chat.open();
}

/** The ID's prefix distinguishes sessions with the same name. */
function rowOf({ id, name, expire_time: end }: ChatSession, now: number): string {
  const left = end > 0 ? ` · ${duration(end - now)}` : "";
  return `${oneLine(name, 60)}${left} · ${id.slice(0, 8)}`;
}

async function extend(view: KernelView, { trans }: CommandContext): Promise<void> {
  const ttl = view.activity.current?.ttl;
  if (!ttl) return;
  const { expire_time: end } = (await view.request("update", { ttl })) as ChatSession;
  const text = trans.__("Session extended: %1 left.", duration(end - Date.now() / 1000));
  Notification.success(text, { autoClose: 0 }); // in the notification centre only: a toast would cover the question
}
