// Which npm packages a built file contains: esbuild's account of it, and what packages say of themselves.
import { readdir, readFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import process from "node:process";

const ROOT = import.meta.dirname;
const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;
const LICENSE_FILE = /^(?:licen[cs]e|copying|notice)\b/i;

/** The folders, as in package-lock.json, of the packages that the outputs have code of; `metafile` is esbuild's. */
export function packagesIn({ outputs }) {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const paths = inputs
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => relative(ROOT, resolve(process.cwd(), path.replace(/^[\w-]+:/, ""))))
    .map((path) => PACKAGE.exec(path.replaceAll("\\", "/"))?.[0]);
  return [...new Set(paths.filter(Boolean))].sort();
}

/** Of each package that one of the files contains: name, version, licence with its text, digest, and those files. */
export async function describePackages(packagesOfFiles) {
  const { packages: locked } = JSON.parse(await readFile(new URL("package-lock.json", import.meta.url), "utf8"));
  const folders = [...new Set(Object.values(packagesOfFiles).flat())].sort();
  return Promise.all(
    folders.map(async (folder) => {
      const { name, version, license, repository } = JSON.parse(
        await readFile(`${ROOT}/${folder}/package.json`, "utf8"),
      );
      const { integrity } = locked[folder];
      const files = Object.keys(packagesOfFiles).filter((file) => packagesOfFiles[file].includes(folder));
      const source = (repository?.url ?? repository ?? "").replace(/^(?:git\+)?\w+:/, "https:").replace(/\.git$/, "");
      const text = await licenseText(folder);
      return { name, version, license, integrity, source, files: files.sort(), text };
    }),
  );
}

/** The licences of all packages that the files contain, as one text. */
export async function licenseTexts(packagesOfFiles) {
  const texts = (await describePackages(packagesOfFiles)).map(({ name, version, license, source, text }) =>
    [`${name} ${version}`, `Licence: ${license}`, `Source: ${source}`, "", text].join("\n"),
  );
  return `${texts.join(`\n\n${"=".repeat(80)}\n\n`)}\n`;
}

async function licenseText(folder) {
  const names = (await readdir(`${ROOT}/${folder}`)).filter((name) => LICENSE_FILE.test(name)).sort();
  if (names.length === 0) throw new Error(`${folder} has no licence file, so it must not be bundled`);
  const texts = await Promise.all(names.map((name) => readFile(`${ROOT}/${folder}/${name}`, "utf8")));
  return texts.map((text) => text.replaceAll("\r\n", "\n").trim()).join("\n\n");
}
