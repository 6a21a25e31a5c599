// How the report is run in a kernel, and what its exit code means. Pure. Facts: `svc report run --help`.

const PAGE_WRITTEN = new Set([0, 1, 3, 4, 5, 124]); // a case that failed has a page, too, with the error in it

export function isPageWritten(code: number): boolean {
  return PAGE_WRITTEN.has(code);
}

/** Where the page is: beside the notebook. */
export function reportPage(notebook: string): string {
  return `${notebook.replace(/\.ipynb$/, "")}.html`;
}

/** Python that runs it with the kernel's own interpreter and prints its progress; the exit code is in `_svc_code`. */
export function reportCode(notebook: string): string {
  return [
    "import subprocess, sys",
    `_svc_words = [sys.executable, "-c", "from svc.cli.main import main; main()", "report", "run", "--", ${asPython(notebook)}]`,
    "_svc_run = subprocess.Popen(_svc_words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)",
    "for _svc_line in _svc_run.stdout:",
    '    print(_svc_line, end="", flush=True)',
    "_svc_code = _svc_run.wait()",
  ].join("\n");
}

/** A string literal: JSON's escapes are Python's. */
function asPython(text: string): string {
  return JSON.stringify(text);
}
