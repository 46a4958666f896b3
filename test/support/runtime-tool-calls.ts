import * as z from "zod";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import { type RuntimeTool, runtimeTool } from "../../src/tool/runtime-tool.ts";
import { saveTargetIn } from "../../src/tool/save-target.ts";
import { variableTools } from "../../src/tool/variables/variable-tools.ts";
import { wrapRuntimeTool, change } from "../../src/tool/tool-call.ts";
import type { CallOptions, RunScope, WrapOptions } from "../../src/tool/wrapped-tool.ts";
import type { Json } from "../../src/value/json.ts";
import { call, failureOf, run } from "./wrapped.ts";

/** `mine` and `state` are variables of the run. */
export const scope: RunScope = {
  run: "r1",
  nameOf: (name) => (["state", "mine"].includes(name) ? `${name}_r1` : name),
};

/** Returns its input when the result is saved, like a tool that changes something. */
export const give = runtimeTool({
  name: "give",
  description: "Gives it back.",
  inputSchema: z.object({ value: z.json() }),
  execute: async ({ value }, { resolve }) => {
    const { value: resolved } = await resolve(value);
    return { output: async () => change(() => resolved) };
  },
});

interface Calling extends Partial<WrapOptions> {
  readonly store: VariableStore;
  /** The variable that the output is saved to, as in an output path. */
  readonly saveTo?: string;
  readonly inRun?: boolean;
}

export async function callTool(
  named: string | RuntimeTool,
  input: Json,
  { saveTo, inRun = true, ...options }: Calling,
) {
  const tool =
    typeof named === "string" ? variableTools().find(({ name }) => name === named) : named;
  if (tool === undefined) throw new Error("There is no such tool.");
  const calling: CallOptions = {
    ...call,
    ...(inRun ? { scope } : {}),
    ...(saveTo === undefined ? {} : { saveTo: saveTargetIn(saveTo) }),
  };
  const ran = await run(await wrapRuntimeTool(tool, options), input, calling);
  return { ran, saved: ran.kind === "done" ? await ran.save() : undefined };
}

export async function outputOf(...args: Parameters<typeof callTool>) {
  const { ran, saved } = await callTool(...args);
  if (saved === undefined) throw new Error(failureOf(ran)?.message);
  return saved.output;
}

/** Returns a store in which a run has its own variables. */
export async function conversation(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await store.save({ name: "state", value: { x: "the conversation's" } });
  await store.save({ name: "rows", value: [{ id: 7 }] });
  await store.save({ name: "state_r1", value: { x: "the run's" }, run: "r1" });
  return store;
}
