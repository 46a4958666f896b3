import * as z from "zod";
import { resolveReferences } from "../../src/reference/resolve.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore } from "../../src/store/variable-store.ts";
import { Labels } from "../../src/store/labels.ts";
import type { RuntimeTool } from "../../src/tool/runtime-tool.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";
import {
  variableTools,
  type VariableToolsOptions,
} from "../../src/tool/variables/variable-tools.ts";
import type { Json } from "../../src/value/json.ts";
import { migratedSql } from "./node-sql.ts";
import { saved } from "../../src/tool/prepared-save.ts";

/** The stores that the tools are tried on. */
export const stores: readonly { readonly title: string; readonly open: () => VariableStore }[] = [
  { title: "MemoryStore", open: () => new MemoryStore() },
  {
    title: "SqlStore",
    open: () => new SqlStore(migratedSql()),
  },
];

export interface Shown {
  readonly output: Json;
  readonly untrusted: boolean;
}

interface ToolsOptions extends VariableToolsOptions {
  readonly hidesUntrusted?: boolean;
}

/** Calls the tools by name, as the runtime does. */
export class Tools {
  readonly store: VariableStore;
  readonly #hidesUntrusted: boolean;
  readonly #tools: readonly RuntimeTool[];

  constructor(store: VariableStore, options: ToolsOptions = {}) {
    this.store = store;
    this.#hidesUntrusted = options.hidesUntrusted ?? false;
    this.#tools = variableTools(options);
  }

  /** What is shown, without what is deferred having happened. */
  async prepare(name: string, input: Json) {
    const tool = this.#tools.find((tool) => tool.name === name);
    if (tool === undefined) throw new Error(`There is no ${name}.`);
    const labels = new Labels(this.store);
    const lookup = lookupInStore(this.store, { onUsed: (used) => labels.add(used) });
    return tool.execute(z.parse(tool.inputSchema, input), {
      store: this.store,
      labels,
      hidesUntrusted: this.#hidesUntrusted,
      call: { toolCallId: "call_1", messages: [], signal: new AbortController().signal },
      resolve: (value) => resolveReferences(value, lookup),
    });
  }

  async call(name: string, input: Json): Promise<Shown> {
    const { output, untrusted = false } = await this.prepare(name, input);
    return {
      output: typeof output === "function" ? await saved(this.store, output) : output,
      untrusted,
    };
  }

  /** The output of a tool that shows fields. */
  async fields(name: string, input: Json): Promise<Readonly<Record<string, Json>>> {
    const { output } = await this.call(name, input);
    return JSON.parse(JSON.stringify(output)) as Readonly<Record<string, Json>>;
  }
}

export function charsOf(output: Json): number {
  return JSON.stringify(output).length;
}
