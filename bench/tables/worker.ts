import { createRuntime, queries, Tables as DeployedTables } from "../../src/byref.ts";
import { scriptedModel } from "../scripted-model.ts";
import { INSTRUCTIONS } from "../shop.ts";

/** A Worker whose conversations have tables, and whose tables also run a statement on a real table. */

interface Env extends Cloudflare.Env {
  readonly TABLES: DurableObjectNamespace<Tables>;
}

const runtime = createRuntime({
  model: scriptedModel,
  queries,
  agents: [{ name: "bench", description: "Says words.", instructions: INSTRUCTIONS, tools: {} }],
});

export class Conversation extends runtime.Conversation {}

const REAL = "CREATE TABLE real (id, customer, total, at)";

export class Tables extends DeployedTables {
  /** Saves records, one a line, as a table with a row for each. */
  async make(lines: string): Promise<void> {
    const { sql } = this.ctx.storage;
    sql.exec(REAL);
    const records = lines.trim().split("\n");
    for (let from = 0; from < records.length; from += 5_000) {
      const chunk = `[${records.slice(from, from + 5_000).join(",")}]`;
      sql.exec(
        `INSERT INTO real SELECT value->>'id', value->>'customer', value->>'total', value->>'at'
         FROM json_each(?)`,
        chunk,
      );
    }
  }

  async read(statement: string): Promise<string> {
    return JSON.stringify(this.ctx.storage.sql.exec(statement).toArray());
  }
}

export default {
  async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
    const [, kind = "", name = ""] = new URL(request.url).pathname.split("/");
    if (kind !== "real") return runtime.worker.fetch(request, env, context);
    const conversation = env.CONVERSATIONS.idFromName(JSON.stringify(["local", name]));
    const tables = env.TABLES.get(env.TABLES.idFromName(conversation.toString()));
    const body = await request.text();
    if (request.method === "PUT") await tables.make(body);
    return new Response(request.method === "PUT" ? "" : await tables.read(body));
  },
};
