/**
 * Adds optional packages of other platforms to each package-lock.json that npm left out because the registry
 * did not have them, and removes the registry's addresses. Without the entries `npm ci` rejects the lock. Run
 * it after every `npm install`: `npm run lock`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exampleFolders, templateFolders } from "./example-folders.ts";

interface LockEntry {
  readonly version?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
  resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Lock {
  packages: Record<string, LockEntry & Readonly<Record<string, unknown>>>;
}

const systems: Readonly<Record<string, string>> = {
  android: "android",
  darwin: "darwin",
  freebsd: "freebsd",
  linux: "linux",
  openharmony: "openharmony",
  win32: "win32",
  windows: "win32",
  wasm32: "wasi",
};
const processors: Readonly<Record<string, string>> = {
  arm: "arm",
  arm64: "arm64",
  ia32: "ia32",
  ppc64: "ppc64",
  riscv64: "riscv64",
  s390x: "s390x",
  x64: "x64",
  "64": "x64",
  wasm32: "wasm32",
};

const root = join(import.meta.dirname, "..");

if (import.meta.main) {
  for (const folder of ["", "bench/peers", ...exampleFolders(), ...templateFolders()]) {
    const added = completeLock(join(root, folder, "package-lock.json"));
    const said = added.length === 0 ? "nothing was missing" : `added:\n${added.join("\n")}`;
    console.log(`${join(folder, "package-lock.json")}: ${said}`);
  }
}

/** Returns the places of the added packages. */
export function completeLock(path: string): readonly string[] {
  const lock = JSON.parse(readFileSync(path, "utf8")) as Lock;
  const added: string[] = [];
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (entry.link !== true) delete entry.resolved;
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const known = [`${path}/node_modules/${name}`, `node_modules/${name}`].some(
        (place) => lock.packages[place]?.version === version,
      );
      const platform = platformOf(name);
      if (known || platform === undefined || !/^\d/.test(version)) continue;
      const taken = lock.packages[`node_modules/${name}`] !== undefined;
      const place = taken ? `${path}/node_modules/${name}` : `node_modules/${name}`;
      const dev = entry.dev === true ? { dev: true } : {};
      lock.packages[place] = { version, ...dev, optional: true, ...platform };
      added.push(place);
    }
  }
  lock.packages = Object.fromEntries(
    Object.entries(lock.packages).sort(([a], [b]) =>
      a === "" ? -1 : b === "" ? 1 : a < b ? -1 : 1,
    ),
  );
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  return added;
}

/** The platform in a binary package's name; undefined if it contains none. */
function platformOf(name: string): { os: string[]; cpu: string[] } | undefined {
  const words = name.split(/[/-]/);
  const os = words.map((word) => systems[word]).find((found) => found !== undefined);
  const cpu = words.map((word) => processors[word]).find((found) => found !== undefined);
  return os === undefined || cpu === undefined ? undefined : { os: [os], cpu: [cpu] };
}
