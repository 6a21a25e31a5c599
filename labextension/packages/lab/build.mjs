// Builds what JupyterLab loads: one script with the plugins, the settings schemas and the package metadata. Shared packages
// (@jupyterlab/*, @lumino/*) are not part of the script: `src/remote.ts` gets them from JupyterLab.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import process from "node:process";
import { packagesIn } from "../../bundled.mjs";
import { bundling, withoutBreaks } from "../chat/bundling.mjs";

process.chdir(import.meta.dirname);

const NOTICES =
  "/*! svc-jupyterlab, Apache-2.0; lit-html (c) Google LLC, BSD-3-Clause; marked (c) MarkedJS, Christopher Jeffrey, MIT; DOMPurify (c) Cure53, Apache-2.0 or MPL-2.0 */\n";
const LOWEST = "^4.2.0"; // the oldest JupyterLab that was tested

const manifest = JSON.parse(await readFile("package.json", "utf8"));
const out = `dist/${manifest.name}`;
const imported = new Set();

/** Resolves imports of shared packages to `src/shared.ts`, which has loaded them before the plugins run. */
const shared = {
  name: "shared",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@(jupyterlab|lumino)\// }, ({ path }) => {
      imported.add(path);
      return { path, namespace: "shared" };
    });
    onLoad({ filter: /.*/, namespace: "shared" }, ({ path }) => ({
      contents: `module.exports = require("./shared.ts").sharedModule(${JSON.stringify(path)});`,
      resolveDir: `${import.meta.dirname}/src`,
    }));
  },
};

/** `import code from "./x.py?raw"` gives the text of the file. */
const rawPython = {
  name: "raw-python",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\.py\?raw$/ }, ({ path, resolveDir }) => ({
      path: new URL(path.replace("?raw", ""), `file://${resolveDir}/`).pathname,
      namespace: "raw-python",
    }));
    onLoad({ filter: /.*/, namespace: "raw-python" }, async ({ path }) => ({
      contents: await readFile(path, "utf8"),
      loader: "text",
    }));
  },
};

await rm("dist", { recursive: true, force: true });
const { outputFiles, metafile } = await build({
  ...bundling,
  entryPoints: ["src/remote.ts"],
  format: "iife",
  plugins: [shared, rawPython, ...bundling.plugins],
});
const code = outputFiles.map(({ text }) => withoutBreaks(text)).join("");
const script = `${NOTICES}(()=>{const SHARED_NAMES=${JSON.stringify([...imported].sort())};${code}})();\n`;
const digest = createHash("sha256").update(script).digest("hex").slice(0, 20);
const entry = `static/remoteEntry.${digest}.js`;

const { name, version, description, license, keywords, jupyterlab } = manifest;
const compatible = imported.has("@jupyterlab/application") ? { "@jupyterlab/application": LOWEST } : {};
const identity = {
  ...{ name, version, description, license, keywords },
  dependencies: compatible, // `jupyter labextension list` checks it
  jupyterlab: { ...jupyterlab, _build: { load: entry, extension: "./extension" } },
};
const install = {
  packageManager: "python",
  packageName: "svc-jupyter",
  uninstallInstructions: "Use your Python package manager: pip uninstall svc-jupyter",
};
const asJson = (value) => `${JSON.stringify(value, null, 2)}\n`;

await mkdir(`${out}/static`, { recursive: true });
await cp("schema", `${out}/schemas/${name}`, { recursive: true });
await writeFile(`${out}/schemas/${name}/package.json.orig`, asJson(identity)); // the server reads the version from it
await writeFile(`${out}/package.json`, asJson(identity));
await writeFile(`${out}/install.json`, asJson(install));
await writeFile(`${out}/${entry}`, script);
await writeFile("dist/bundled.json", JSON.stringify({ [entry]: packagesIn(metafile) }));
