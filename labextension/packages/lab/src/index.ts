// The plugins. Each can be disabled by its ID: `jupyter labextension disable svc-jupyterlab:highlight`.
import type { JupyterFrontEndPlugin } from "@jupyterlab/application";
import { cellBelowPlugin } from "./cell-below.js";
import { chartsPlugin } from "./charts-plugin.js";
import { commandsPlugin } from "./commands-plugin.js";
import { highlightPlugin } from "./highlight.js";
import { questionViewPlugin } from "./question-view.js";
import { panelPlugin } from "./panel-plugin.js";
import { statusPlugin } from "./status-plugin.js";

const plugins: JupyterFrontEndPlugin<unknown>[] = [
  panelPlugin,
  commandsPlugin,
  statusPlugin,
  cellBelowPlugin,
  chartsPlugin,
  highlightPlugin,
  questionViewPlugin,
];

export default plugins;
