import type { ToolLoopAgentSettings, ToolSet } from "ai";
import { resolveReferences } from "../reference/resolve.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { lookupInStore } from "../tool/store-lookup.ts";
import type { Json } from "../value/json.ts";

type ToolApproval = NonNullable<ToolLoopAgentSettings<never, ToolSet>["toolApproval"]>;

/** The same decisions, asked with values in place of the references: that is what would run. */
export function resolvedApproval(approval: ToolApproval, store: VariableStore): ToolApproval {
  if (typeof approval === "function") {
    return async (call) => {
      const { toolCall } = call;
      const input = await resolved(toolCall.input, store);
      // The same call: its input is as its schema has it.
      return approval({ ...call, toolCall: { ...toolCall, input } as typeof toolCall });
    };
  }
  const entries = Object.entries(approval).map(([name, decide]) => [
    name,
    typeof decide === "function"
      ? async (input: unknown, options: Parameters<typeof decide>[1]) =>
          decide(await resolved(input, store), options)
      : decide,
  ]);
  // The same names, with what decides of each.
  return Object.fromEntries(entries) as ToolApproval;
}

async function resolved(input: unknown, store: VariableStore): Promise<Json> {
  // The SDK made the input by parsing JSON.
  const { value } = await resolveReferences(input as Json, lookupInStore(store));
  return value;
}
