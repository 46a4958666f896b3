import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { builtOnce, SOURCES } from "./built.ts";
import { ensurePage } from "./page.ts";

const root = join(import.meta.dirname, "..");
const PACKED = ["README.md", "CHANGELOG.md", "LICENSE", "scripts", "tsconfig.build.json"];

/** Builds and packs the package, once for its sources, in a copy of them. Returns the tarball's path. */
export async function packedTarball(): Promise<string> {
  const parts = [...SOURCES, ...PACKED];
  const made = await builtOnce("package", [...parts, "page"], async (folder) => {
    await ensurePage();
    // Not below `node_modules`, where Node runs no TypeScript.
    const copy = mkdtempSync(join(tmpdir(), "byref-package-"));
    try {
      const copied = [...parts, "dist/web", "dist/web-app"];
      for (const name of copied) cpSync(join(root, name), join(copy, name), { recursive: true });
      symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
      const env = { ...process.env, PATH: `${root}/node_modules/.bin:${process.env["PATH"]}` };
      execFileSync(process.execPath, ["scripts/build.ts"], { cwd: copy, env, stdio: "pipe" });
      pack(copy, folder);
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });
  const [tarball = ""] = readdirSync(made);
  return join(made, tarball);
}

/** Builds and packs `create-byref`, whose program is one module without packages. Returns the tarball's path. */
export async function packCreatePackage(destination: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "create-byref-"));
  try {
    for (const name of ["package.json", "README.md", "LICENSE", "templates"]) {
      cpSync(join(root, "create-byref", name), join(folder, name), { recursive: true });
    }
    const input = join(root, "create-byref/src/main.ts");
    const modules = await rolldown({ input, platform: "node" });
    const program = join(folder, "dist/main.js");
    await modules.write({ file: program });
    chmodSync(program, 0o755);
    return pack(folder, destination);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Packs a folder as `npm publish` would, without running its scripts. Returns the tarball's path. */
function pack(folder: string, destination: string): string {
  const parameters = ["pack", "--ignore-scripts", `--pack-destination=${destination}`];
  const said = execFileSync("npm", parameters, { cwd: folder, encoding: "utf8", stdio: "pipe" });
  return join(destination, said.trim().split("\n").at(-1) ?? "");
}
