import { readFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import type { Results } from "./results.ts";

const root = join(import.meta.dirname, "..");
const OURS = ["ai", "workerd", "wrangler"];
const THEIRS = ["agents", "@cloudflare/ai-chat", "@cloudflare/think"];

/** Versions of all packages that affect the figures. */
export function describeVersions(withPeers: boolean): Results["versions"] {
  const at = (folder: string, names: readonly string[]) =>
    names.map((name) => [name, versionIn(join(folder, "node_modules", name))]);
  return Object.fromEntries([
    ["byref", versionIn(root)],
    ["node", process.version.slice(1)],
    ...at(root, OURS),
    ...(withPeers ? at(join(root, "bench/peers"), THEIRS) : []),
  ]);
}

export function describeMachine(): Results["machine"] {
  const [load = 0] = loadavg();
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model ?? "",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    objects: tmpdir().startsWith("/dev/shm") ? "in memory" : "on disk",
    system: `${process.platform} ${process.arch}`,
    date: new Date().toISOString().slice(0, 10),
    loadAtStart: Number(load.toFixed(1)),
  };
}

function versionIn(folder: string): string {
  return String(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version);
}
