/**
 * The Worker in Miniflare, on disk, as `wrangler dev` runs it but without what that does besides:
 * `node worker-process.ts OPTIONS`, a JSON file. Ends with whoever started it, and takes workerd along.
 */
import { readFileSync } from "node:fs";
import { convertV4MiniflareOptions, Miniflare, type V4MiniflareOptions } from "miniflare";

const end = () => process.kill(-process.pid, "SIGKILL");
process.stdin.on("close", end).resume();
// `bundleWorker` wrote it.
const options = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as V4MiniflareOptions;
try {
  console.log(`ready ${(await new Miniflare(convertV4MiniflareOptions(options)).ready).origin}`);
} catch (error) {
  console.error(error);
  end();
}
