// What both published packages have besides their scripts: types for modules and for `require`, and a licence.
import { execFileSync } from "node:child_process";
import { copyFile, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename } from "node:path";
import process from "node:process";

const TSC = createRequire(import.meta.url).resolve("typescript/bin/tsc");
const IMPORT = /(?:from|import\() ?"\.\/([\w-]+)\.js"/g;

/** Writes `dist/types`: what the public types need. The same for `dist/cjs`, whose scripts are CommonJS. */
export async function declare(folder) {
  execFileSync(process.execPath, [TSC, "-p", "tsconfig.build.json"], { cwd: folder, stdio: ["ignore", 2, 2] });
  const declared = `${folder}/dist/declared`;
  await mkdir(`${folder}/dist/types`, { recursive: true });
  const needed = new Set(["index"]);
  for (const name of needed) {
    const text = await readFile(`${declared}/${basename(folder)}/src/${name}.d.ts`, "utf8");
    for (const [, imported] of text.matchAll(IMPORT)) needed.add(imported);
    await writeFile(`${folder}/dist/types/${name}.d.ts`, text);
  }
  await rm(declared, { recursive: true });
  await mkdir(`${folder}/dist/cjs`, { recursive: true });
  await cp(`${folder}/dist/types`, `${folder}/dist/cjs/types`, { recursive: true });
  await writeFile(`${folder}/dist/cjs/package.json`, '{ "type": "commonjs" }\n');
}

/** Copies the licence, which npm packs, to the package; it is not in git a second time. */
export async function license(folder) {
  await copyFile(new URL("../LICENSE", import.meta.url), `${folder}/LICENSE`);
}
