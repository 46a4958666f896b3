import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bundleWorker, startWorker } from "../chaos/worker.ts";
import { type Environment, temporaryFolder } from "./server.ts";

/** The Worker in Miniflare, with its page and bucket. */
export type WorkerServer = Awaited<ReturnType<typeof startWorkerServer>>;

/**
 * Starts the Worker of `npm start` without wrangler in front and without processes for code: for tests that are not
 * about the start. `env` has settings, and `STATE_DIR`. Default: the demo model, without authentication.
 */
export async function startWorkerServer(env: Environment = {}) {
  const { STATE_DIR, ...settings } = env;
  const stateDir = STATE_DIR ?? temporaryFolder();
  const bindings = { AUTH: "none", ...settings };
  const worker = await startWorker(stateDir, await bundleWorker(stateDir, { bindings }));
  return {
    url: worker.url.replace("127.0.0.1", "localhost"),
    /** Returns everything that it has printed so far. */
    output: () => readFileSync(join(stateDir, "server.log"), "utf8"),
    /** Kills it, and deletes the state folder if it created it. */
    stop: async () => {
      await worker.kill();
      if (STATE_DIR === undefined) rmSync(stateDir, { recursive: true, force: true });
    },
  };
}
