import { nodeQueryDatabases } from "../../adapters/src/agent/node-query-engine.ts";
import { codeOf } from "../../../src/errors.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { editVariable } from "../../../src/tool/edit/edit-variable.ts";
import { type RanQuery, recordEdits } from "../src/query-tools.ts";
import { wrapRuntimeTool } from "../../../src/tool/tool-call.ts";
import type { CallOptions, WrapOptions } from "../../../src/tool/wrapped-tool.ts";
import type { Json } from "../../../src/value/json.ts";
import { call, run } from "../../../test/support/wrapped.ts";

/** An edit of records by a condition. */
export type Where = { readonly where: string; readonly set: Readonly<Record<string, Json>> };

/** Calls edit_variable with queries in Node's SQLite. */
export class Editor {
  readonly store = new MemoryStore();
  readonly queries: RanQuery[] = [];
  readonly #databases = nodeQueryDatabases(this.store);

  async edit(
    input: Readonly<Record<string, Json>>,
    options: Partial<WrapOptions & { readonly call: Partial<CallOptions> }> = {},
  ): Promise<Readonly<Record<string, Json>>> {
    const wrap: WrapOptions = { store: this.store, ...options };
    const onQuery = (query: RanQuery) => this.queries.push(query);
    const tool = editVariable(recordEdits({ databases: this.#databases, wrap, onQuery }));
    const calling = { ...call, ...options.call };
    const ran = await run(await wrapRuntimeTool(tool, wrap), { name: "orders", ...input }, calling);
    if (ran.kind === "failed") throw Object.assign(new Error(ran.message), { code: ran.code });
    return (await ran.save()).output as Readonly<Record<string, Json>>;
  }

  async refusal(...given: Parameters<Editor["edit"]>): Promise<string> {
    const error = await this.edit(...given).catch((thrown: Error) => thrown);
    return error instanceof Error ? `${codeOf(error)}: ${error.message}` : "done";
  }
}
