// The script that JupyterLab loads: a hand-written module federation container. JupyterLab calls `init` with its shared
// packages, then `get` for the plugins, whose code runs only then.
import { loadShared } from "./shared.js";
import type { ShareScope } from "./shared.js";

declare const SHARED_NAMES: readonly string[]; // defined by build.mjs

interface Container {
  init(scope: ShareScope): void;
  get(module: string): Promise<() => unknown>;
}

let shareScope: ShareScope = {};

const container: Container = {
  init(scope) {
    shareScope = scope;
  },
  async get(module) {
    if (module !== "./extension") throw new Error(`svc-jupyterlab has no ${module}`);
    await loadShared(shareScope, SHARED_NAMES);
    const { default: plugins } = await import("./index.js");
    return () => ({ __esModule: true, default: plugins }); // JupyterLab checks this flag to find `default`
  },
};

const page = window as unknown as { _JUPYTERLAB?: Record<string, Container> };
page._JUPYTERLAB ??= {};
page._JUPYTERLAB["svc-jupyterlab"] ??= container;
