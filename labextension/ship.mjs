// Copies the built files from the packages' `dist` folders into the Python packages that contain them, with a list of the
// npm packages in them and their licences: for the SBOM (sbom.py), for people, and for JupyterLab's list of licences.
import { copyFile, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { describePackages, licenseTexts } from "./bundled.mjs";
import { packed } from "./packed.mjs";

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
for (const name of ["sdk", "chat"]) {
  await writeFile(new URL(`svc-${name}.tgz`, STATIC), packed(`${import.meta.dirname}/packages/${name}`));
}
await rm(LABEXTENSION, { recursive: true, force: true });
await cp(new URL("packages/lab/dist/svc-jupyterlab/", import.meta.url), LABEXTENSION, { recursive: true });
await mkdir(PANEL, { recursive: true });
await copyFile(new URL("packages/chat/dist/panel.js", import.meta.url), new URL("panel.js", PANEL));

const parts = await Promise.all(
  ["chat", "page", "lab"].map((name) =>
    readFile(new URL(`packages/${name}/dist/bundled.json`, import.meta.url), "utf8"),
  ),
);
const contents = Object.assign({}, ...parts.map((part) => JSON.parse(part)));
const packages = await describePackages(contents);
const withoutTexts = (key, value) => (key === "text" ? undefined : value);
await writeFile(new URL("third_party.json", STATIC), `${JSON.stringify({ packages }, withoutTexts, 2)}\n`);
await writeFile(new URL("THIRD_PARTY_LICENSES.txt", STATIC), await licenseTexts(contents));
const shown = packages
  .filter(({ files }) => files.some((file) => file.startsWith("static/")))
  .map(({ name, version, license, text }) => ({
    name,
    versionInfo: version,
    licenseId: license,
    extractedText: text,
  }));
await writeFile(
  new URL("static/third-party-licenses.json", LABEXTENSION),
  `${JSON.stringify({ packages: shown }, null, 2)}\n`,
);
