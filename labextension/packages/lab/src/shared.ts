// The packages that JupyterLab shares with what it loads, in webpack's share scope: every version that anybody brings.
// All of these are singletons. The choice is webpack's own: the version that is loaded, else the newest.

interface Shared {
  readonly get: () => Factory | Promise<Factory>;
  readonly loaded?: unknown;
}
type Factory = () => unknown;

export type ShareScope = Readonly<Record<string, Readonly<Record<string, Shared>>>>;

const modules = new Map<string, unknown>();

/** Takes these packages from the scope, once. Rejects where one is missing, and names it. */
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

/** What an import of the package reads; only after `loadShared`. */
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
