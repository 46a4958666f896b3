import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MAIN = new URL("../../packages/gateway/src/cli/main.ts", import.meta.url).pathname;

/** Default home folder. Node's compile cache is also stored in it. */
const HOME = mkdtempSync(join(tmpdir(), "byref-home-"));

interface CommandPlace {
  /** The working folder. */
  readonly folder: string;
  /** The user's home folder. Default: one for all commands. */
  readonly home?: string;
  /** A module that is loaded before the program. */
  readonly preload?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs `byref` from the sources. Passes on only `PATH` from this process's environment. */
export function byref(args: readonly string[], place: CommandPlace) {
  const { folder, home = HOME, preload, env } = place;
  const imports = preload === undefined ? [] : ["--import", preload];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...imports, MAIN, ...args], {
    cwd: folder,
    encoding: "utf8",
    env: { HOME: home, USERPROFILE: home, PATH: process.env.PATH ?? "", ...env },
  });
  return { status, stdout, stderr };
}
