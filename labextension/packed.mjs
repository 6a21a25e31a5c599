// An npm package as a tarball whose bytes depend on its files alone: not on their modes or times, nor on the machine.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { gunzipSync, gzipSync } from "node:zlib";

const BLOCK = 512;
const MODE = { at: 100, length: 8 };
const SIZE = { at: 124, length: 12 };
const CHECKSUM = { at: 148, length: 8 };
const GZIP_SYSTEM = 9; // the byte of gzip's header that names the operating system

/** What `npm pack` packs from the folder of a package that is built. */
export function packed(folder) {
  const target = mkdtempSync(join(tmpdir(), "svc-packed-"));
  try {
    const cli = process.env["npm_execpath"];
    const [command, ...first] = cli ? [process.execPath, cli] : ["npm"];
    const words = [
      "pack",
      folder,
      "--ignore-scripts",
      "--silent",
      "--workspaces=false",
      `--pack-destination=${target}`,
    ];
    execFileSync(command, [...first, ...words], { cwd: target, stdio: ["ignore", "ignore", 2] });
    const [file] = readdirSync(target);
    const bytes = gzipSync(withPlainModes(gunzipSync(readFileSync(join(target, file)))), { level: 9 });
    bytes[GZIP_SYSTEM] = 255;
    return bytes;
  } finally {
    rmSync(target, { recursive: true });
  }
}

/** Sets the mode of every file of a tar archive to 644. */
function withPlainModes(archive) {
  for (let at = 0; archive[at];) {
    const header = archive.subarray(at, at + BLOCK);
    header.write("000644 \0", MODE.at, MODE.length, "latin1");
    header.fill(" ", CHECKSUM.at, CHECKSUM.at + CHECKSUM.length);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, CHECKSUM.at, CHECKSUM.length, "latin1");
    const size = parseInt(header.toString("latin1", SIZE.at, SIZE.at + SIZE.length), 8);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return archive;
}
