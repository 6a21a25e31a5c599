// Where a file of the file browser is, seen from a notebook's kernel, which works in the notebook's folder. Pure.

/** A path of the contents API without its drive: "RTC:a/b.txt" is "a/b.txt". */
export function withoutDrive(path: string): string {
  const colon = path.indexOf(":");
  const slash = path.indexOf("/");
  return colon > 0 && (slash < 0 || colon < slash) ? path.slice(colon + 1) : path;
}

/** Whether the path names another place than the server's own folders. */
export function hasDrive(path: string): boolean {
  return withoutDrive(path) !== path && !path.startsWith("RTC:");
}

/** The file's path from the notebook's folder where it stands in it or below; else null. */
export function fromNotebook(file: string, notebook: string): string | null {
  if (hasDrive(file) || hasDrive(notebook)) return null;
  const path = withoutDrive(file).replace(/^\/+/, "");
  const folder = folderOf(withoutDrive(notebook).replace(/^\/+/, ""));
  return path.startsWith(folder) ? path.slice(folder.length) : null;
}

/** "" or a folder with its slash. */
function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}
