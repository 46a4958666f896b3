import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/**
 * The parts of `wrangler.toml` that are unchanged from this repository. Other configurations run as
 * configured there.
 */
export interface OwnConfig {
  readonly servesOwnPage: boolean;
  /** True for this repository's Worker, with a Worker Loader for `run_code`. */
  readonly runsOwnWorker: boolean;
}

export function ownConfig(): OwnConfig {
  const toml = readFileSync(join(root, "wrangler.toml"), "utf8");
  return {
    servesOwnPage: /^\s*directory\s*=\s*"(\.\/)?dist\/web\/?"/m.test(toml),
    runsOwnWorker:
      /^\s*main\s*=\s*"(\.\/)?src\/index\.ts"/m.test(toml) &&
      /^\s*\[\[worker_loaders\]\]\s*binding\s*=\s*"LOADER"/m.test(toml),
  };
}
