/** Bundles the Worker for plain workerd, with its start script, for an image: `node scripts/workerd-bundle.ts FOLDER`. */
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync } from "node:fs";
import { join } from "node:path";
import { bundleWorker } from "../packages/gateway/src/bundle/bundle-worker.ts";
import { builtOnce, SOURCES } from "./built.ts";
import { ensurePage } from "./page.ts";

const root = join(import.meta.dirname, "..");
const modules = join(root, "node_modules");
const sources = [...SOURCES, "examples/agents", "examples/demo-model", "page", "wrangler.toml"];

/** Returns the folder of this repository's bundle. None of its files contains a secret. */
export async function workerdBundle(): Promise<string> {
  await ensurePage();
  const fill = async (folder: string) => void (await bundleWorker({ project: root, folder }));
  return builtOnce("workerd", sources, fill);
}

if (import.meta.main) {
  const [, , folder] = process.argv;
  if (folder === undefined)
    throw new Error("Say in which folder: scripts/workerd-bundle.ts FOLDER");
  cpSync(await workerdBundle(), folder, { recursive: true });
  copyFileSync(join(modules, "workerd/bin/workerd"), join(folder, "workerd"));
  const start = [join(root, "scripts/start-workerd.ts"), "--bundle", "--platform=node"];
  // The code that builds the bundle is not in the image.
  const parameters = ["--format=esm", "--external:./workerd-bundle.ts"];
  const out = `--outfile=${join(folder, "start.mjs")}`;
  execFileSync(join(modules, ".bin/esbuild"), [...start, ...parameters, out], { stdio: "pipe" });
}
