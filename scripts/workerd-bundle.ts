/**
 * Bundles the Worker for plain workerd, with its start script, for an image: `node scripts/workerd-bundle.ts
 * FOLDER`.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { bundleWorker } from "../packages/gateway/src/bundle/bundle-worker.ts";
import { ensurePage } from "./page.ts";

const root = join(import.meta.dirname, "..");
const modules = join(root, "node_modules");

/** Writes the bundle of this repository's Worker. None of its files contains a secret. */
export async function bundleForWorkerd(folder: string): Promise<void> {
  ensurePage();
  await bundleWorker({ project: root, folder });
}

const [, program = "", folder] = process.argv;
if (resolve(program) === import.meta.filename) {
  if (folder === undefined)
    throw new Error("Say in which folder: scripts/workerd-bundle.ts FOLDER");
  await bundleForWorkerd(folder);
  copyFileSync(join(modules, "workerd/bin/workerd"), join(folder, "workerd"));
  const start = [join(root, "scripts/start-workerd.ts"), "--bundle", "--platform=node"];
  // The code that builds the bundle is not in the image.
  const parameters = ["--format=esm", "--external:./workerd-bundle.ts"];
  const out = `--outfile=${join(folder, "start.mjs")}`;
  execFileSync(join(modules, ".bin/esbuild"), [...start, ...parameters, out], { stdio: "pipe" });
}
