import { useConversation } from "../conversation-context.ts";
import { planName } from "../plans/call-state.ts";
import { Icon } from "../icon.tsx";
import { plural } from "../words.ts";
import type { ToolPart } from "./tool-part.ts";

/** The tool whose calls are plans. */
export const PROPOSE_PLAN = "propose_plan";

/** Describes a plan in words. The details of the call show its JSON. */
export function PlanLine({ input }: { readonly input: unknown }) {
  const { name, calls } = planIn(input);
  const written = { calls, ...(name === undefined ? {} : { name }) };
  return (
    <>
      <span className="tool-plan-name">{planName(written)}</span>
      <span className="tool-plan-calls">{plural(calls.length, "call")}</span>
    </>
  );
}

/** Links to the plan once it is stored. */
export function PlanLink({ part }: { readonly part: ToolPart }) {
  const { openPlan } = useConversation();
  const id = part.state === "output-available" ? idIn(part.output) : undefined;
  if (id === undefined) return null;
  return (
    <p className="tool-plan">
      <button type="button" className="button" onClick={() => openPlan(id)}>
        <Icon name="plans" size={16} /> Open the plan
      </button>
    </p>
  );
}

interface WrittenPlan {
  readonly name: string | undefined;
  readonly calls: readonly { readonly _tool: string }[];
}

/** Returns the part of a plan that has streamed so far. The input can have any shape. */
function planIn(input: unknown): WrittenPlan {
  const { name, calls } = { ...(input as Readonly<Record<string, unknown>> | undefined) };
  const known = Array.isArray(calls) ? (calls as readonly unknown[]) : [];
  return {
    name: typeof name === "string" ? name : undefined,
    calls: known.map((call) => {
      const { _tool } = { ...(call as { readonly _tool?: unknown } | null) };
      return { _tool: typeof _tool === "string" ? _tool : "…" };
    }),
  };
}

function idIn(output: unknown): string | undefined {
  const { plan } = { ...(output as { readonly plan?: unknown } | null) };
  return typeof plan === "string" ? plan : undefined;
}
