// Paths of the file browser, relative to a kernel that runs in the notebook's folder. Pure.

/** A path of the contents API without its drive: "RTC:a/b.txt" is "a/b.txt". */
export function withoutDrive(path: string): string {
  const colon = path.indexOf(":");
  const slash = path.indexOf("/");
  return colon > 0 && (slash < 0 || colon < slash) ? path.slice(colon + 1) : path;
}

/** Whether the path is on a drive other than the server's file system. */
export function hasDrive(path: string): boolean {
  return withoutDrive(path) !== path && !path.startsWith("RTC:");
}

/** The path relative to the notebook's folder, or null if the file is not below it. */
export function fromNotebook(file: string, notebook: string): string | null {
  if (hasDrive(file) || hasDrive(notebook)) return null;
  const path = withoutDrive(file).replace(/^\/+/, "");
  const folder = folderOf(withoutDrive(notebook).replace(/^\/+/, ""));
  return path.startsWith(folder) ? path.slice(folder.length) : null;
}

/** The folder with a trailing slash, or "". */
function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}
