/** A real service for the tests, with scripted answers (tests/support/assistants). */
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

const REPOSITORY = path.resolve(import.meta.dirname, "../../../..");
const START_SECONDS = 30;

export interface Address {
  baseUrl: string;
  apiKey: string;
}

export class LocalService implements Address {
  readonly #folder = mkdtempSync(path.join(tmpdir(), "svc-sdk-"));
  readonly #options: string[];
  #process: ChildProcess | null = null;
  baseUrl = "";
  apiKey = "";

  private constructor(options: string[]) {
    this.#options = options;
  }

  static async start(...options: string[]): Promise<LocalService> {
    const service = new LocalService(options);
    await service.startAgain();
    return service;
  }

  /** Starts it again with the same address, key and sessions. */
  async startAgain(): Promise<void> {
    const connection = path.join(this.#folder, "service.json");
    rmSync(connection, { force: true });
    const python = process.env["SVC_PYTHON"] ?? "python3";
    const options = [
      ...["--port", this.baseUrl ? new URL(this.baseUrl).port : "0"],
      ...["--connection-file", connection, "--key-file", path.join(this.#folder, "key")],
      ...["--assistant", "scripted_assistants:Scripted", ...this.#options],
    ];
    this.#process = spawn(python, ["-c", "from svc.cli.main import main; main()", "serve", ...options], {
      cwd: this.#folder,
      env: {
        ...process.env,
        SVC_STATE_DIR: this.#folder,
        PYTHONPATH: [REPOSITORY, path.join(REPOSITORY, "tests", "support", "assistants")].join(path.delimiter),
      },
      stdio: "ignore",
    });
    await this.#listening(connection);
  }

  /** Kills the process, as in a crash. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  }

  /** Keeps a copy of the database, while the service does not run. */
  backUp(): void {
    for (const name of this.#database()) this.#copy(name, `backup-${name}`);
  }

  /** Puts the copy back, while the service does not run. */
  restore(): void {
    for (const name of this.#database()) rmSync(path.join(this.#folder, name));
    const copies = readdirSync(this.#folder).filter((name) => name.startsWith("backup-"));
    for (const name of copies) this.#copy(name, name.slice("backup-".length));
  }

  #database(): string[] {
    return readdirSync(this.#folder).filter((name) => /^service\.db(-wal|-shm)?$/.test(name));
  }

  #copy(from: string, to: string): void {
    copyFileSync(path.join(this.#folder, from), path.join(this.#folder, to));
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #listening(connection: string): Promise<void> {
    for (let waited = 0; waited < START_SECONDS; waited += 0.05) {
      if (existsSync(connection)) {
        this.baseUrl = (JSON.parse(readFileSync(connection, "utf8")) as { base_url: string }).base_url;
        this.apiKey = readFileSync(path.join(this.#folder, "key"), "utf8").trim();
        return;
      }
      if (this.#process?.exitCode !== null) break;
      await sleep(50);
    }
    throw new Error("the service did not start. SVC_PYTHON names the Python that svc is installed in.");
  }
}
