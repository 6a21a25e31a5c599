// The code that runs a report in a kernel, and the meaning of its exit codes. Pure. Source: `svc report run --help`.
import { expression } from "./bootstrap.js";

const PAGE_WRITTEN = new Set([0, 1, 3, 4, 5, 6, 124]); // a page that shows the error, or what was not answered (6)

export function isPageWritten(code: number): boolean {
  return PAGE_WRITTEN.has(code);
}

/** The path of the page, next to the notebook. */
export function reportPage(notebook: string): string {
  return `${notebook.replace(/\.ipynb$/, "")}.html`;
}

/** Python code that runs the report with the kernel's interpreter, prints the progress and sets `_svc_code` to the exit code. */
export function reportCode(notebook: string): string {
  return `_svc_code = ${expression("run_report", notebook)}[1]`;
}
