import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureWholeFolder } from "../../scripts/whole-folder.ts";

const modules = join(import.meta.dirname, "../../node_modules");
const EXTRACT = "import chromium from '@sparticuz/chromium'; await chromium.executablePath();";

/**
 * Returns the path of the Chromium in `@sparticuz/chromium`. The package extracts to the temporary folder and
 * reuses a file of the same name from any version. The extraction therefore runs in a process with an empty
 * temporary folder, and the result is stored in a folder named after the package's version.
 */
export async function chromiumPath(): Promise<string> {
  const manifest = readFileSync(join(modules, "@sparticuz/chromium/package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const folder = join(modules, `.cache/chromium-${version}`);
  await ensureWholeFolder(folder, async (empty) => {
    const program = ["--input-type=module", "--eval", EXTRACT];
    const env = { ...process.env, TMPDIR: empty };
    await promisify(execFile)(process.execPath, program, { cwd: import.meta.dirname, env });
  });
  return join(folder, "chromium");
}
