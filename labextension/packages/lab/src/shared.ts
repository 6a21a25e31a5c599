// The packages that JupyterLab shares with extensions, in webpack's share scope, which may have several versions of each.
// All of them are singletons. As in webpack, the loaded version is used, otherwise the newest.

interface Shared {
  readonly get: () => Factory | Promise<Factory>;
  readonly loaded?: unknown;
}
type Factory = () => unknown;

export type ShareScope = Readonly<Record<string, Readonly<Record<string, Shared>>>>;

const modules = new Map<string, unknown>();

/** Loads these packages from the scope, once. Rejects if one is missing, and names it. */
export async function loadShared(scope: ShareScope, names: readonly string[]): Promise<void> {
  const wanted = names.filter((name) => !modules.has(name));
  await Promise.all(
    wanted.map(async (name) => {
      const versions = scope[name] ?? {};
      const version = chooseVersion(versions);
      if (version === undefined) throw new Error(`svc-jupyterlab: this JupyterLab shares no ${name}`);
      const factory = await versions[version]?.get();
      modules.set(name, factory?.());
    }),
  );
}

/** The module of a shared package; call `loadShared` first. */
export function sharedModule(name: string): unknown {
  return modules.get(name);
}

export function chooseVersion(versions: Readonly<Record<string, Pick<Shared, "loaded">>>): string | undefined {
  const all = Object.keys(versions);
  const loaded = all.filter((version) => versions[version]?.loaded);
  return (loaded.length ? loaded : all).sort(compareVersions).at(-1);
}

function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((version) => version.split(/[.+-]/).map(Number));
  for (let place = 0; place < 3; place++) {
    const difference = (left?.[place] ?? 0) - (right?.[place] ?? 0);
    if (difference) return difference;
  }
  return other.includes("-") && !one.includes("-") ? 1 : one.includes("-") && !other.includes("-") ? -1 : 0;
}
