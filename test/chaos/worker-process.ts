/**
 * Runs the Worker in Miniflare with state on disk, like `wrangler dev` without its extras: `node
 * worker-process.ts OPTIONS`, where OPTIONS is a JSON file. Kills itself and workerd when its standard input
 * closes.
 */
import { readFileSync } from "node:fs";
import { convertV4MiniflareOptions, Miniflare, type V4MiniflareOptions } from "miniflare";

const end = () => process.kill(-process.pid, "SIGKILL");
process.stdin.on("close", end).resume();
// Written by `bundleWorker`.
const options = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as V4MiniflareOptions;
try {
  console.log(`ready ${(await new Miniflare(convertV4MiniflareOptions(options)).ready).origin}`);
} catch (error) {
  console.error(error);
  end();
}
