import * as z from "zod";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { wrapTool } from "../../src/tool/tool-call.ts";
import type {
  AnyTool,
  CallOptions,
  ReferenceCount,
  ToolRun,
  WrapOptions,
  WrappedTool,
} from "../../src/tool/wrapped-tool.ts";
import type { Json } from "../../src/value/json.ts";

export const call = { toolCallId: "call_1", messages: [], signal: new AbortController().signal };

/** Prepares and runs a call. A call that needs approval does not run. */
export async function run(
  wrapped: WrappedTool,
  input: Json,
  options: CallOptions = call,
): Promise<ToolRun & { readonly references?: ReferenceCount }> {
  const ready = await wrapped.prepare(input, options);
  if (ready.kind === "failed") return ready;
  if (ready.approval !== undefined) throw new Error(`Somebody is asked: ${ready.approval.reason}`);
  const { references } = ready;
  const done = await ready.run();
  return done.kind === "done" ? { ...done, references } : done;
}

/** Runs a tool named `act` once and saves its output, if any. */
export async function runOnce(act: AnyTool, input: Json, options: Partial<WrapOptions> = {}) {
  const store = options.store ?? new MemoryStore();
  const wrapped = await wrapTool("act", act, { ...options, store });
  const ran = await run(wrapped, input);
  return { run: ran, saved: ran.kind === "done" ? await ran.save() : undefined, store };
}

/** Creates a tool without parameters that returns this. */
export function returning(result: () => unknown): AnyTool {
  return { inputSchema: z.object({}), execute: result } as AnyTool;
}

/** Creates a store with these variables. */
export async function storeWith(variables: Readonly<Record<string, Json>>): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const [name, value] of Object.entries(variables)) await store.save({ name, value });
  return store;
}

/** Returns the failure of a call; undefined if it succeeded. */
export const failureOf = (ran: ToolRun) => (ran.kind === "failed" ? ran : undefined);
