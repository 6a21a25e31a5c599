// The code that runs a report in a kernel, and the meaning of its exit codes. Pure. Source: `svc report run --help`.

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
  return [
    "import subprocess, sys",
    `_svc_words = [sys.executable, "-c", "from svc.cli.main import main; main()", "report", "run", "--", ${asPython(notebook)}]`,
    "_svc_run = subprocess.Popen(_svc_words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)",
    "for _svc_line in _svc_run.stdout:",
    '    print(_svc_line, end="", flush=True)',
    "_svc_code = _svc_run.wait()",
  ].join("\n");
}

/** A Python string literal; JSON escapes are valid in Python. */
function asPython(text: string): string {
  return JSON.stringify(text);
}
