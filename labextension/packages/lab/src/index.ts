// The plugins, each of which can be switched off by its name: `jupyter labextension disable svc-jupyterlab:highlight`.
import type { JupyterFrontEndPlugin } from "@jupyterlab/application";

const plugins: JupyterFrontEndPlugin<unknown>[] = [];

export default plugins;
