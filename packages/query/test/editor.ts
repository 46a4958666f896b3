import { nodeQueryDatabases } from "../../adapters/src/agent/node-query-engine.ts";
import { codeOf } from "../../../src/errors.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { editVariable } from "../../../src/tool/edit/edit-variable.ts";
import { type RanQuery, queryTools } from "../src/query-tools.ts";
import { wrapRuntimeTool } from "../../../src/tool/tool-call.ts";
import type { CallOptions, WrapOptions } from "../../../src/tool/wrapped-tool.ts";
import type { Json } from "../../../src/value/json.ts";
import { call, failureOf, run } from "../../../test/support/wrapped.ts";

/** An edit of records by a condition. */
export type Where = { readonly where: string; readonly set: Readonly<Record<string, Json>> };

type Options = Partial<WrapOptions & { readonly call: Partial<CallOptions>; saveAs: string }>;

/** Calls edit_variable and query_variables, with queries in Node's SQLite. */
export class Editor {
  readonly store = new MemoryStore();
  readonly queries: RanQuery[] = [];
  readonly #databases = nodeQueryDatabases(this.store);

  static async with(values: Readonly<Record<string, Json>>): Promise<Editor> {
    const made = new Editor();
    for (const [name, value] of Object.entries(values)) await made.store.save({ name, value });
    return made;
  }

  async tools({ call: _call, saveAs: _saveAs, ...options }: Options = {}) {
    const wrap: WrapOptions = { store: this.store, ...options };
    const onQuery = (query: RanQuery) => this.queries.push(query);
    const { query, records } = queryTools({ databases: this.#databases, wrap, onQuery });
    return {
      query: await wrapRuntimeTool(query, wrap),
      edit: await wrapRuntimeTool(editVariable(records), wrap),
    };
  }

  async edit(
    input: Readonly<Record<string, Json>>,
    options: Options = {},
  ): Promise<Readonly<Record<string, Json>>> {
    const { edit } = await this.tools(options);
    const ran = await run(edit, { name: "orders", ...input }, { ...call, ...options.call });
    if (ran.kind === "failed") throw Object.assign(new Error(ran.message), { code: ran.code });
    return (await ran.save()).output as Readonly<Record<string, Json>>;
  }

  async query(sql: string, { saveAs, ...options }: Options = {}) {
    const { query } = await this.tools(options);
    return run(query, saveAs === undefined ? { sql } : { sql, saveAs }, {
      ...call,
      ...options.call,
    });
  }

  async saved(sql: string, options: Options = {}) {
    const ran = await this.query(sql, options);
    if (ran.kind !== "done") throw new Error(`${ran.code}: ${ran.message}`);
    return ran.save();
  }

  async failure(sql: string, options: Options = {}) {
    return failureOf(await this.query(sql, options));
  }

  async refusal(...given: Parameters<Editor["edit"]>): Promise<string> {
    const error = await this.edit(...given).catch((thrown: Error) => thrown);
    return error instanceof Error ? `${codeOf(error)}: ${error.message}` : "done";
  }
}
