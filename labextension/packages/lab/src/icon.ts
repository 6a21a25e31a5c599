// The icon: a shield with a question mark, in JupyterLab's icon colours, so that it fits every theme.
import { LabIcon } from "@jupyterlab/ui-components";

const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">' +
  '<path class="jp-icon3" fill="#616161" d="M12 2 4 5v6c0 5 3.4 9.6 8 11 4.6-1.4 8-6 8-11V5zm0 2.1L18 6.4V11c0 3.9-2.5 7.5-6 8.9-3.5-1.4-6-5-6-8.9V6.4z"/>' +
  '<path class="jp-icon3" fill="#616161" d="M11.1 15.5h1.8v1.8h-1.8zM12 6.5c-1.9 0-3.3 1.3-3.4 3.1h1.8c.1-.9.7-1.5 1.6-1.5s1.6.6 1.6 1.4c0 .7-.3 1.1-1.1 1.7-1 .7-1.4 1.4-1.4 2.5v.5h1.7v-.4c0-.7.3-1 1.1-1.6 1-.7 1.5-1.5 1.5-2.7 0-1.8-1.4-3-3.4-3z"/>' +
  "</svg>";

export const analystIcon = new LabIcon({ name: "svc-jupyterlab:analyst", svgstr: SVG });
