// The code that the page runs in a kernel to connect. Pure. Nothing of it imports from the notebook's folder.
import trustedImports from "../../../../svc_jupyter/trusted_imports.py?raw";

/** Runs the script in a namespace of its own, which leaves no name behind in the kernel, and calls `function`. */
export function expression(call: string): string {
  const script = JSON.stringify(trustedImports); // JSON's escapes are Python's
  return `(lambda names: (exec(${script}, names), names[${JSON.stringify(call)}]()))({"__name__": "svc_trusted_imports"})`;
}

/** Imports the kernel's side from where it is installed, and registers its comm target. */
export const REGISTER = expression("connect");
