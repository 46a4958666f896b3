/** The Worker of `npm start`: the deployable Worker, with each run of code, and queries, in processes of their own. */
import { Conversation as Deployed } from "../../src/index.ts";
import { DurableObject } from "cloudflare:workers";
import type {
  EngineQuery,
  QueryEngine,
  TableChunk,
} from "../../packages/query/src/query-engine.ts";
import { remoteLoader } from "./remote-loader.ts";

interface LocalBindings {
  readonly LOADER?: WorkerLoader;
  /** The URL of `side-server.ts`. */
  readonly LOCAL_SIDE: string;
}

type Parameters = ConstructorParameters<typeof Deployed>;

export class Conversation extends Deployed {
  constructor(state: Parameters[0], env: Parameters[1] & LocalBindings) {
    super(state, { ...env, LOADER: remoteLoader(env.LOCAL_SIDE) });
  }
}

/** A database behind `side-server.ts`: local workerd cannot interrupt SQLite. */
export class Tables extends DurableObject<LocalBindings> implements QueryEngine {
  run(query: EngineQuery): ReturnType<QueryEngine["run"]> {
    return this.#call("run", query);
  }

  add(key: string, chunk: TableChunk): Promise<void> {
    return this.#call("add", key, chunk);
  }

  keep(keys: readonly string[]): Promise<void> {
    return this.#call("keep", keys);
  }

  async #call<Output>(method: string, ...input: readonly unknown[]): Promise<Output> {
    const url = `${this.env.LOCAL_SIDE}/queries/${this.ctx.id}/${method}`;
    const response = await fetch(url, { method: "POST", body: JSON.stringify(input) });
    if (!response.ok) throw new Error(await response.text());
    const { output } = await response.json<{ output: Output }>();
    return output;
  }
}

export { default, Directory } from "../../src/index.ts";
