import { chmodSync, cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { packFolder } from "./pack-folder.ts";

const source = join(import.meta.dirname, "../create-byref");

/**
 * Builds and packs `create-byref` as npm would publish it, and returns the tarball's path. Its program is one
 * module without packages. Nothing is written into the source folder.
 */
export async function packCreatePackage(destination: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "create-byref-"));
  try {
    for (const name of ["package.json", "README.md", "LICENSE", "templates"]) {
      cpSync(join(source, name), join(folder, name), { recursive: true });
    }
    const modules = await rolldown({ input: join(source, "src/main.ts"), platform: "node" });
    const program = join(folder, "dist/main.js");
    await modules.write({ file: program });
    chmodSync(program, 0o755);
    return packFolder(folder, destination).path;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
