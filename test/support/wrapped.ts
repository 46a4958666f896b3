import { MemoryStore } from "../../src/store/memory-store.ts";
import {
  type AnyTool,
  type ToolRun,
  type WrapOptions,
  wrapTool,
} from "../../src/tool/wrap-tool.ts";
import type { Json } from "../../src/value/json.ts";

export const call = { toolCallId: "call_1", messages: [], signal: new AbortController().signal };

/** Runs a tool named `act` once and saves what it gave, if it gave something. */
export async function runOnce(act: AnyTool, input: Json, options: Partial<WrapOptions> = {}) {
  const store = options.store ?? new MemoryStore();
  const wrapped = await wrapTool("act", act, { ...options, store });
  const run = await wrapped.run(input, call);
  return { run, saved: run.kind === "done" ? await run.save() : undefined, store };
}

/** A store with variables of these names. */
export async function storeWith(variables: Readonly<Record<string, Json>>): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const [name, value] of Object.entries(variables)) await store.save({ name, value });
  return store;
}

/** What a call failed with; undefined if it did not. */
export function failureOf(run: ToolRun) {
  return run.kind === "failed" ? run : undefined;
}
