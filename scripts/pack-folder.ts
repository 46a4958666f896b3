import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** A tarball that npm made. */
interface Packed {
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  readonly entryCount: number;
}

/** Packs a folder as `npm publish` would, without running its scripts. */
export function packFolder(folder: string, destination: string): Packed {
  const parameters = ["pack", "--json", "--ignore-scripts", `--pack-destination=${destination}`];
  const listed = execFileSync("npm", parameters, { cwd: folder, encoding: "utf8", stdio: "pipe" });
  // npm 12 lists packages by name, earlier ones in an array.
  const [packed] = Object.values(JSON.parse(listed) as Listed);
  if (packed === undefined) throw new Error("npm packed nothing.");
  return { ...packed, path: join(destination, packed.filename) };
}

type Listed = Readonly<Record<string, Omit<Packed, "path"> & { readonly filename: string }>>;
