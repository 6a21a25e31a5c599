// The chat in the right sidebar: appearance, active kernel, and a notification when a long turn ends while it is hidden.
import { ILayoutRestorer } from "@jupyterlab/application";
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { IThemeManager, Notification } from "@jupyterlab/apputils";
import { INotebookTracker } from "@jupyterlab/notebook";
import { ISettingRegistry } from "@jupyterlab/settingregistry";
import { ITranslator, nullTranslator } from "@jupyterlab/translation";
import type { TranslationBundle } from "@jupyterlab/translation";
import { ENGLISH } from "@svc-jupyter/chat";
import type { Strings } from "@svc-jupyter/chat";
import { duration } from "@svc-jupyter/chat/src/strings.js";
import { oneLine } from "@svc-jupyter/chat/src/untrusted.js";
import type { TurnSummary } from "./activity.js";
import { ChatPanel } from "./chat-panel.js";
import { acceptDrops } from "./file-drop.js";
import { Follower } from "./follower.js";
import type { KernelView, Appearance } from "./kernel-view.js";
import { leaveChat, returnOnEscape } from "./focus.js";
import { isAnswerInView } from "./sight.js";
import { notificationOf } from "./notices.js";
import type { Action } from "./notices.js";
import { readSettings } from "./settings.js";
import type { Settings } from "./settings.js";
import css from "./styles.css?inline";
import { KernelChatToken, whenOpen } from "./kernel-chat.js";
import type { KernelChat } from "./kernel-chat.js";

const ID = "svc-jupyterlab:panel";
const NOTICE_MS = 10_000; // then it is in the notification centre only
const MINUTES_FROM = 120; // seconds; shorter times are given in seconds
const NOTICE_COMMANDS: Readonly<Record<Exclude<Action, "connect" | "try-again">, string>> = {
  "open-notebook": "notebook:create-new",
  "choose-kernel": "notebook:change-kernel",
  "restart-kernel": "notebook:restart-kernel",
};

export const panelPlugin: JupyterFrontEndPlugin<KernelChat> = {
  id: ID,
  description: "The security analyst's chat for the kernel of the current notebook.",
  autoStart: true,
  provides: KernelChatToken,
  requires: [INotebookTracker],
  optional: [ISettingRegistry, ITranslator, IThemeManager, ILayoutRestorer],
  activate,
};

function activate(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  registry: ISettingRegistry | null,
  translator: ITranslator | null,
  themes: IThemeManager | null,
  restorer: ILayoutRestorer | null,
): KernelChat {
  const trans = (translator ?? nullTranslator).load("svc_jupyterlab");
  let settings = readSettings({});
  const strings = translated(trans);
  const appearance = () => appearanceOf(settings, themes, strings);
  const follower = new Follower(tracker, appearance(), settings.defaults);
  const panel = new ChatPanel(follower, trans, (action) => {
    if (action === "connect" || action === "try-again") follower.connect();
    else void app.commands.execute(NOTICE_COMMANDS[action]);
  });
  addStyles();
  returnOnEscape(panel, tracker);
  app.shell.add(panel, "right", { rank: 900, type: "Svc" });
  restorer?.add(panel, panel.id);
  themes?.themeChanged.connect(() => {
    follower.setAppearance(appearance());
  });
  void followSettings(registry, (changed) => {
    settings = changed;
    follower.setDefaults(changed.defaults);
    follower.setAppearance(appearance());
  });
  acceptFiles(app, panel, follower, trans);
  const chat: KernelChat = {
    follower,
    panel,
    open: async () => {
      app.shell.activateById(panel.id);
      const view = await whenOpen(follower);
      view?.element.focus();
      return view;
    },
    toggle: async () => {
      if (panel.isVisible && panel.node.contains(document.activeElement)) leaveChat(app, tracker);
      else await chat.open();
    },
  };
  notifyOfLongTurns(app, chat, trans, () => settings.notifySeconds);
  return chat;
}

function acceptFiles(app: JupyterFrontEnd, panel: ChatPanel, follower: Follower, trans: TranslationBundle): void {
  acceptDrops(panel.node, {
    contents: app.serviceManager.contents,
    trans,
    target: () => ({ view: panel.chat, notebookPath: follower.panel?.context.path ?? "" }),
    failed: (text) => {
      Notification.error(oneLine(text, 300), { autoClose: 10_000 });
    },
  });
}

async function followSettings(registry: ISettingRegistry | null, changed: (settings: Settings) => void): Promise<void> {
  const loaded = await registry?.load(ID).catch(() => undefined); // without the schema: the built-in defaults
  if (!loaded) return;
  const tell = () => {
    changed(readSettings(loaded.composite));
  };
  loaded.changed.connect(tell);
  tell();
}

/** The element's texts, translated; the English text is the key. */
function translated(trans: TranslationBundle): Strings {
  return Object.fromEntries(Object.entries(ENGLISH).map(([name, text]) => [name, trans.__(text)])) as Strings;
}

function appearanceOf({ theme }: Settings, themes: IThemeManager | null, strings: Strings): Appearance {
  const isLight = themes?.theme ? themes.isLight(themes.theme) : document.body.dataset.jpThemeLight !== "false";
  return { strings, theme: theme === "auto" ? (isLight ? "light" : "dark") : theme, isForced: theme !== "auto" };
}

function addStyles(): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

/** Notifies of answers that took long and arrived out of sight. */
function notifyOfLongTurns(
  { shell }: JupyterFrontEnd,
  chat: KernelChat,
  trans: TranslationBundle,
  limitSeconds: () => number,
): void {
  const { follower, panel } = chat;
  const notify = (view: KernelView, ended: TurnSummary) => {
    const limit = limitSeconds();
    const isInChat = !document.hidden && panel.isVisible && follower.view === view;
    const isSeen = isInChat || follower.panelsOf(view).some(isAnswerInView);
    if (isSeen || limit === 0 || ended.seconds < limit) return;
    const question = oneLine(ended.question, 80);
    const time = ended.seconds < MINUTES_FROM ? `${Math.round(ended.seconds)} s` : duration(ended.seconds);
    const { text, isGood } = notificationOf(ended, time, question, trans);
    const show = () => {
      const [notebook] = follower.panelsOf(view); // another one may be in front
      if (notebook) shell.activateById(notebook.id);
      void chat.open();
    };
    const actions = [{ label: trans.__("Show"), callback: show }];
    Notification.emit(text, isGood ? "success" : "warning", { autoClose: NOTICE_MS, actions });
  };
  const watch = (view: KernelView) => view.ended.connect(notify);
  for (const view of follower.views) watch(view);
  follower.added.connect((_, view) => watch(view));
}
