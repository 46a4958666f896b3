import * as z from "zod";
import { resolveReferences } from "../../src/reference/resolve.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import { Labels } from "../../src/store/labels.ts";
import type { RuntimeTool, RuntimeToolContext } from "../../src/tool/runtime-tool.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";
import {
  variableTools,
  type VariableToolsOptions,
} from "../../src/tool/variables/variable-tools.ts";
import type { Json } from "../../src/value/json.ts";
import { migratedSql } from "./node-sql.ts";
import { saveStaged } from "../../src/tool/tool-call.ts";

/** The stores that the tools are tested on. */
export const stores: readonly { readonly title: string; readonly open: () => VariableStore }[] = [
  { title: "MemoryStore", open: () => new MemoryStore() },
  { title: "SqlStore", open: () => new SqlStore(migratedSql()) },
];

type Shown = { readonly output: Json; readonly untrusted: boolean };

interface ToolsOptions extends VariableToolsOptions {
  readonly hidesUntrusted?: boolean;
  /** Default: the runtime's own. */
  readonly tools?: readonly RuntimeTool[];
}

/** Returns the context that the runtime gives a tool outside of runs. */
export function contextOn(store: VariableStore, signal: AbortSignal): RuntimeToolContext {
  const labels = new Labels(store);
  const lookup = lookupInStore(store, { onUsed: (used) => labels.add(used) });
  return {
    store,
    user: undefined,
    labels,
    hidesUntrusted: false,
    call: { toolCallId: "call_1", messages: [], signal },
    locate: async (reference) => reference,
    storeOf: () => store,
    lookup,
    resolve: (value) => resolveReferences(value, lookup),
  };
}

/** Calls the tools by name, as the runtime does. */
export class Tools {
  readonly store: VariableStore;
  readonly #hidesUntrusted: boolean;
  readonly #tools: readonly RuntimeTool[];

  constructor(store: VariableStore, options: ToolsOptions = {}) {
    this.store = store;
    this.#hidesUntrusted = options.hidesUntrusted ?? false;
    this.#tools = options.tools ?? variableTools(options);
  }

  /** Returns what the call shows, without executing its deferred work. */
  async prepare(name: string, input: Json) {
    const tool = this.#tools.find((tool) => tool.name === name);
    if (tool === undefined) throw new Error(`There is no ${name}.`);
    const { signal } = new AbortController();
    const context = contextOn(this.store, signal);
    const hidesUntrusted = this.#hidesUntrusted;
    return tool.execute(z.parse(tool.inputSchema, input), { ...context, hidesUntrusted });
  }

  async call(name: string, input: Json): Promise<Shown> {
    const { output, untrusted = false } = await this.prepare(name, input);
    return {
      output: typeof output === "function" ? await saveStaged(this.store, output) : output,
      untrusted,
    };
  }

  /** Returns the output of a tool that shows fields. */
  async fields(name: string, input: Json): Promise<Readonly<Record<string, Json>>> {
    const { output } = await this.call(name, input);
    return JSON.parse(JSON.stringify(output)) as Readonly<Record<string, Json>>;
  }
}

export const charsOf = (output: Json): number => JSON.stringify(output).length;
