import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { builtOnce } from "../../scripts/built.ts";

const EXTRACT = "import chromium from '@sparticuz/chromium'; await chromium.executablePath();";

/**
 * Returns the path of the Chromium in `@sparticuz/chromium`. The package extracts to the temporary folder and
 * reuses a file of the same name from any version. The extraction therefore runs in a process with an empty
 * temporary folder, once for each version.
 */
export async function chromiumPath(): Promise<string> {
  const manifest = "node_modules/@sparticuz/chromium/package.json";
  const folder = await builtOnce("chromium", [manifest], async (empty) => {
    const program = ["--input-type=module", "--eval", EXTRACT];
    const env = { ...process.env, TMPDIR: empty };
    await promisify(execFile)(process.execPath, program, { cwd: import.meta.dirname, env });
  });
  return join(folder, "chromium");
}
