// Selects the kernel that the chat belongs to: that of the notebook used last. Connects to a kernel only if the user
// ran a cell there or pressed Connect, since connecting runs code in the folder of a notebook that was perhaps only
// opened to be read; and only when the chat is needed: the panel is visible, or a cell uses the analyst.
import type { ISessionContext } from "@jupyterlab/apputils";
import { NotebookActions } from "@jupyterlab/notebook";
import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import { Signal } from "@lumino/signaling";
import { KernelView } from "./kernel-view.js";
import type { Defaults, Appearance } from "./kernel-view.js";
import { usesAnalyst } from "./question-cells.js";
import { UsedKernels } from "./used-kernels.js";

export class Follower {
  /** The current view was replaced, or changed. */
  readonly changed = new Signal<this, void>(this);
  readonly added = new Signal<this, KernelView>(this);
  readonly #views = new Map<string, KernelView>();
  readonly #requested = new Set<string>();
  readonly #used = new UsedKernels();
  #isVisible = false;

  constructor(
    private readonly tracker: INotebookTracker,
    private appearance: Appearance,
    private defaults: Defaults,
  ) {
    tracker.currentChanged.connect(this.#currentChanged, this);
    tracker.forEach((panel) => this.#watch(panel));
    tracker.widgetAdded.connect((_, panel) => this.#watch(panel));
    NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
      const kernel = tracker.find((one) => one.content === notebook)?.sessionContext.session?.kernel;
      const source = cell.model.sharedModel.getSource();
      if (!kernel || cell.model.type !== "code" || !source.trim()) return;
      this.#use(kernel.id);
      if (usesAnalyst(source)) this.#request(kernel); // the status bar shows the first question, too
    });
    NotebookActions.executed.connect((_, { notebook, cell }) => {
      const panel = tracker.find((one) => one.content === notebook);
      if (panel && usesAnalyst(cell.model.sharedModel.getSource())) this.#request(panel.sessionContext.session?.kernel);
    });
    this.#currentChanged();
  }

  get panel(): NotebookPanel | null {
    return this.tracker.currentWidget;
  }

  /** The view of the current notebook's kernel, or null if it has none. */
  get view(): KernelView | null {
    const kernel = this.panel?.sessionContext.session?.kernel;
    return kernel ? (this.#views.get(kernel.id) ?? null) : null;
  }

  /** The open notebooks of the view's kernel. */
  panelsOf(view: KernelView): NotebookPanel[] {
    const panels: NotebookPanel[] = [];
    this.tracker.forEach((panel) => {
      if (panel.sessionContext.session?.kernel?.id === view.link.kernel.id) panels.push(panel);
    });
    return panels;
  }

  get views(): Iterable<KernelView> {
    return this.#views.values();
  }

  /** Whether the chat is visible; if so, the current kernel is connected, unless nothing was run in it yet. */
  set isVisible(isVisible: boolean) {
    this.#isVisible = isVisible;
    this.#connectIfShown();
  }

  /** Connects the current kernel: the user said so. */
  connect(): void {
    const { view } = this;
    if (!view) return;
    this.#used.add(view.link.kernel.id);
    view.link.connect();
  }

  setAppearance(appearance: Appearance): void {
    this.appearance = appearance;
    for (const view of this.#views.values()) view.setAppearance(appearance);
  }

  setDefaults(defaults: Defaults): void {
    this.defaults = defaults;
    for (const view of this.#views.values()) view.setDefaults(defaults);
  }

  #watch(panel: NotebookPanel): void {
    const { sessionContext } = panel;
    sessionContext.kernelChanged.connect(this.#kernelChanged, this);
    panel.disposed.connect(() => {
      sessionContext.kernelChanged.disconnect(this.#kernelChanged, this);
      this.#dropUnused();
    });
    this.#follow(sessionContext.session?.kernel);
  }

  #kernelChanged(_: ISessionContext, { newValue }: { newValue: Kernel.IKernelConnection | null }): void {
    this.#follow(newValue);
    this.#dropUnused();
    this.#currentChanged();
  }

  #currentChanged(): void {
    this.#connectIfShown();
    this.changed.emit();
  }

  #connectIfShown(): void {
    const { view } = this;
    if (this.#isVisible && view && this.#used.has(view.link.kernel.id)) view.link.connect();
  }

  #use(kernelId: string): void {
    this.#used.add(kernelId);
    this.#connectIfShown();
  }

  #request(kernel: Kernel.IKernelConnection | null | undefined): void {
    if (!kernel || !this.#used.has(kernel.id)) return;
    this.#requested.add(kernel.id);
    this.#follow(kernel);
    this.#views.get(kernel.id)?.link.connect();
  }

  #follow(kernel: Kernel.IKernelConnection | null | undefined): void {
    if (!kernel) return;
    if (!this.#views.has(kernel.id)) {
      const view = new KernelView(kernel, this.appearance, this.defaults);
      this.#views.set(kernel.id, view);
      view.changed.connect(() => {
        if (view === this.view) this.changed.emit();
      });
      this.added.emit(view);
    }
    if (this.#requested.has(kernel.id)) this.#views.get(kernel.id)?.link.connect();
  }

  /** Disposes the views of kernels that no open notebook uses. */
  #dropUnused(): void {
    const used = new Set<string>();
    this.tracker.forEach(({ isDisposed, sessionContext }) => {
      const kernel = isDisposed ? null : sessionContext.session?.kernel;
      if (kernel) used.add(kernel.id);
    });
    for (const [id, view] of this.#views) {
      if (used.has(id)) continue;
      this.#views.delete(id);
      view.dispose();
    }
    this.changed.emit();
  }
}
