// Copies the built files from the packages' `dist` folders into the Python packages that contain them.
import { copyFile, cp, mkdir, rm } from "node:fs/promises";

const STATIC = new URL("../svc/service/static/", import.meta.url);
const LABEXTENSION = new URL("../svc_jupyter/labextension/", import.meta.url);
const PANEL = new URL("../svc_jupyter/static/", import.meta.url);
const SERVED = [
  "packages/chat/dist/swc.iife.js",
  "packages/chat/dist/swc.css",
  "packages/page/dist/page.js",
  "packages/page/dist/page.css",
];

await mkdir(STATIC, { recursive: true });
await rm(new URL("built_from.txt", STATIC), { force: true }); // hatch_build.py's mark does not match the new files
for (const path of SERVED) {
  const name = path.slice(path.lastIndexOf("/") + 1);
  await copyFile(new URL(path, import.meta.url), new URL(name, STATIC));
}
await rm(LABEXTENSION, { recursive: true, force: true });
await cp(new URL("packages/lab/dist/svc-jupyterlab/", import.meta.url), LABEXTENSION, { recursive: true });
await mkdir(PANEL, { recursive: true });
await copyFile(new URL("packages/chat/dist/panel.js", import.meta.url), new URL("panel.js", PANEL));
