// "Re-run as Report": runs `svc report run` on the notebook and opens the resulting page. Uses a separate kernel with the
// notebook's Python environment, so that the notebook's own kernel stays free.
import { Notification } from "@jupyterlab/apputils";
import { PathExt } from "@jupyterlab/coreutils";
import type { IDocumentManager } from "@jupyterlab/docmanager";
import type { NotebookPanel } from "@jupyterlab/notebook";
import { KernelMessage } from "@jupyterlab/services";
import type { Session } from "@jupyterlab/services";
import { UUID } from "@lumino/coreutils";
import { oneLine } from "@svc-jupyter/chat/src/untrusted.js";
import type { CommandContext } from "./command-context.js";
import { isPageWritten, reportCode, reportPage } from "./report-rules.js";

export function addReportCommand(context: CommandContext, documents: IDocumentManager): string {
  const { app, chat, trans } = context;
  app.commands.addCommand("svc:run-report", {
    label: trans.__("Re-run as Report"),
    caption: trans.__("Run the saved notebook in a new kernel and open its report"),
    isEnabled: () => chat.follower.panel?.sessionContext.session?.kernel != null,
    execute: async () => {
      const { panel } = chat.follower;
      if (panel) await report(panel, context, documents);
    },
  });
  return "svc:run-report";
}

async function report(panel: NotebookPanel, context: CommandContext, documents: IDocumentManager): Promise<void> {
  const { trans } = context;
  const { path } = panel.context;
  const name = PathExt.basename(path);
  await panel.context.save();
  const stopped = new AbortController();
  const stop = { label: trans.__("Stop"), callback: () => stopped.abort() };
  const id = Notification.emit(trans.__("Running %1 as a report…", name), "in-progress", {
    autoClose: false,
    actions: [stop],
  });
  const finish = (message: string, type: Notification.TypeOptions, actions: Notification.IAction[] = []) =>
    Notification.update({ id, message, type, actions, autoClose: type === "success" ? 10_000 : false });
  const show = { label: trans.__("Show"), callback: () => void openPage(documents, reportPage(path)) };
  try {
    const { code, last } = await run(panel, name, context, stopped.signal, (line) => {
      Notification.update({ id, message: oneLine(`${name}: ${line}`, 120), actions: [stop] });
    });
    if (stopped.signal.aborted) finish(trans.__("Stopped the report of %1.", name), "warning");
    else if (code === 0) finish(trans.__("The report of %1 is ready.", name), "success", [show]);
    else if (isPageWritten(code)) finish(trans.__("%1: %2", name, oneLine(last, 200)), "warning", [show]);
    else finish(trans.__("No report of %1: %2", name, oneLine(last, 300)), "error");
    if (isPageWritten(code) && !stopped.signal.aborted) await openPage(documents, reportPage(path));
  } catch (error) {
    finish(trans.__("No report of %1: %2", name, error instanceof Error ? error.message : String(error)), "error");
  }
}

interface Outcome {
  readonly code: number;
  readonly last: string;
}

async function run(
  panel: NotebookPanel,
  name: string,
  { app }: CommandContext,
  signal: AbortSignal,
  onLine: (line: string) => void,
): Promise<Outcome> {
  const kernel = { name: panel.sessionContext.session?.kernel?.name ?? "python3" };
  const path = PathExt.join(PathExt.dirname(panel.context.path), `svc-report-${UUID.uuid4()}`);
  const session = await app.serviceManager.sessions.startNew({ name: "svc report", path, type: "console", kernel });
  const stop = () => void session.shutdown().catch(() => undefined);
  signal.addEventListener("abort", stop);
  try {
    return await outcomeOf(session, name, signal, onLine);
  } finally {
    if (!session.isDisposed) await session.shutdown().catch(() => undefined);
    session.dispose();
  }
}

async function outcomeOf(
  session: Session.ISessionConnection,
  name: string,
  signal: AbortSignal,
  onLine: (line: string) => void,
): Promise<Outcome> {
  let last = "";
  const future = session.kernel?.requestExecute({
    code: reportCode(name),
    store_history: false,
    allow_stdin: false,
    user_expressions: { code: "_svc_code" },
  });
  if (!future) throw new Error("the kernel did not start");
  future.onIOPub = (message) => {
    if (!KernelMessage.isStreamMsg(message)) return;
    last = message.content.text.trim().split("\n").at(-1) ?? last;
    onLine(last);
  };
  const stopped = new Promise<null>((resolve) => {
    signal.addEventListener("abort", () => resolve(null));
  });
  const reply = await Promise.race([future.done, stopped]);
  if (reply?.content.status !== "ok") return { code: -1, last };
  const value = reply.content.user_expressions.code as { data?: Record<string, string> } | undefined;
  return { code: Number(value?.data?.["text/plain"] ?? "-1"), last };
}

/** Opens the page in JupyterLab's viewer, which runs no scripts, or reloads it if it is open. */
async function openPage(documents: IDocumentManager, path: string): Promise<void> {
  const open = documents.findWidget(path);
  if (open) await open.context.revert();
  documents.openOrReveal(path);
}
