// The code that the page runs in a kernel to connect. Pure. Nothing of it imports from the notebook's folder.
import trustedImports from "../../../../svc_jupyter/trusted_imports.py?raw";

/** Runs the script in a namespace of its own, which leaves no name behind, and calls a function of it: the second value. */
export function expression(name: string, ...given: string[]): string {
  const script = JSON.stringify(trustedImports); // JSON's escapes are Python's
  const call = `names[${JSON.stringify(name)}](${given.map((text) => JSON.stringify(text)).join()})`;
  return `(lambda names: (exec(${script}, names), ${call}))({"__name__": "svc_trusted_imports"})`;
}

/** Imports the kernel's side from its installation, and registers its comm target. */
export const REGISTER = expression("connect");
