// The script that JupyterLab loads: a container of module federation, by hand. JupyterLab calls `init` with what it
// shares, then asks `get` for the plugins; only then is their code run.
import { loadShared } from "./shared.js";
import type { ShareScope } from "./shared.js";

declare const SHARED_NAMES: readonly string[]; // by build.mjs

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
    return () => ({ __esModule: true, default: plugins }); // by that name JupyterLab knows where to look
  },
};

const page = window as unknown as { _JUPYTERLAB?: Record<string, Container> };
page._JUPYTERLAB ??= {};
page._JUPYTERLAB["svc-jupyterlab"] ??= container;
