// The plugins, each of which can be switched off by its name: `jupyter labextension disable svc-jupyterlab:highlight`.
import type { JupyterFrontEndPlugin } from "@jupyterlab/application";
import { cellBelowPlugin } from "./cell_below.js";
import { commandsPlugin } from "./commands_plugin.js";
import { highlightPlugin } from "./highlight.js";
import { panelPlugin } from "./panel_plugin.js";
import { statusPlugin } from "./status_plugin.js";

const plugins: JupyterFrontEndPlugin<unknown>[] = [
  panelPlugin,
  commandsPlugin,
  statusPlugin,
  cellBelowPlugin,
  highlightPlugin,
];

export default plugins;
