import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { nodeQueryEngine } from "../packages/adapters/src/agent/node-query-engine.ts";
import { messageOf } from "../src/errors.ts";
import type { QueryEngine } from "../packages/query/src/query-engine.ts";

/** Databases that are open at once. The one that was used least recently is dropped; its tables are loaded again. */
const MAX_OPEN = 100;

/**
 * Serves the databases of `scripts/local/worker.ts` on the loopback address: local workerd cannot interrupt SQLite, and
 * the process behind `nodeQueryEngine` can be killed. Returns the URL, with a secret path.
 */
export async function serveQueries(port: number): Promise<{ url: string; close: () => void }> {
  const secret = randomBytes(32).toString("hex");
  const open = new Map<string, QueryEngine>();
  const engineOf = (name: string) => {
    const engine = open.get(name) ?? nodeQueryEngine();
    open.delete(name);
    open.set(name, engine);
    const [oldest = name] = open.keys();
    if (open.size > MAX_OPEN) open.delete(oldest);
    return engine;
  };
  const server = createServer(async (request, response) => {
    const [, given, name = "", method = ""] = (request.url ?? "").split("/");
    if (given !== secret || !isMethod(method)) return response.writeHead(404).end();
    try {
      // Written by `local/worker.ts`.
      const input = JSON.parse(await text(request)) as readonly unknown[];
      const engine = engineOf(name);
      const run = engine[method] as (...all: readonly unknown[]) => Promise<unknown>;
      response.end(JSON.stringify({ output: await run.apply(engine, [...input]) }));
    } catch (error) {
      response.writeHead(500).end(messageOf(error));
    }
  });
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/${secret}`, close };
}

function isMethod(name: string): name is keyof QueryEngine {
  return ["run", "begin", "add", "complete", "keep"].includes(name);
}
