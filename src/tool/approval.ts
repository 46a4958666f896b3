import * as limits from "../limits.ts";
import { ByrefError } from "../errors.ts";
import type { Decision, PolicyCall } from "./policy.ts";
import type { PreparedCall, WrapOptions } from "./prepared-call.ts";
import { clip } from "../value/characters.ts";
import { isJsonArray, isJsonObject, type Json } from "../value/json.ts";
import { failed } from "./failure.ts";
import type { ApprovalRequest, Failed } from "./wrapped-tool.ts";

export type Approval = { readonly kind: "allowed"; readonly approval?: ApprovalRequest } | Failed;

/** Whether a call may run, must not, or has to be approved by a person first. Fails closed. */
export async function approvalFor(prepared: PreparedCall): Promise<Approval> {
  const { named, input, resolution, labels } = prepared;
  const { name, options } = named;
  const resolved = resolution.value;
  const call = { tool: name, input, resolved, references: labels.consumed };
  const decided = await decisionFor(options, call);
  if (decided.kind === "failed" || decided.approval !== undefined) return decided;
  return (await needsApproval(prepared)) ? { kind: "allowed", approval: request(call) } : decided;
}

/** What the agent's policy says of a call. */
export async function decisionFor(
  { policy, policies, taint }: WrapOptions,
  call: Omit<PolicyCall, "tainted">,
): Promise<Approval> {
  const { tool } = call;
  const { aliases } = policies?.[tool] ?? {};
  const decision = await decided(policy, {
    ...call,
    ...(aliases === undefined ? {} : { aliases }),
    tainted: taint?.isTainted ?? false,
  });
  if (typeof decision === "object" && "deny" in decision) {
    return failed(new ByrefError("tool_denied", `${tool} was not allowed: ${decision.deny}`));
  }
  if (decision !== "allow") return { kind: "allowed", approval: request(call, decision.ask) };
  const isAsked = policies?.[tool]?.approval === true;
  return isAsked ? { kind: "allowed", approval: request(call) } : { kind: "allowed" };
}

/** What a person is asked. Sealed values are for people to see, secrets are not. */
function request(
  { tool, input, resolved, references }: Omit<PolicyCall, "tainted">,
  reason = `${tool} runs when a person approves it.`,
): ApprovalRequest {
  const hasSecret = references.some(({ visibility }) => visibility === "secret");
  const text = JSON.stringify(withoutBytes(hasSecret ? input : resolved));
  // The start of it as it is: what stands in for values tells nobody what would run.
  const shown = clip(text, limits.maxApprovalChars);
  const more = text.length - shown.length;
  return { reason, input: more > 0 ? `${shown}… (+${more} characters)` : shown };
}

function withoutBytes(value: Json): Json {
  // A reference to bytes has put them there (`store-lookup.ts`).
  if ((value as unknown) instanceof Uint8Array) return "[bytes]";
  if (isJsonArray(value)) return value.slice(0, limits.maxApprovalChars).map(withoutBytes);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, withoutBytes(inner)]),
  );
}

async function decided(policy: WrapOptions["policy"], call: PolicyCall): Promise<Decision> {
  if (policy === undefined) return "allow";
  try {
    return await policy(call);
  } catch {
    // What it says may hold a value that it was given.
    return { deny: "the policy failed." };
  }
}

/** What the tool itself says, of its resolved input; of an input that it cannot judge, yes. */
async function needsApproval({ named, checked, call }: PreparedCall): Promise<boolean> {
  const { needsApproval: asks } = named.tool;
  if (typeof asks !== "function") return asks === true;
  try {
    const { toolCallId, messages } = call;
    // The SDK types it by the tool's schema.
    const ask = asks as (input: unknown, options: unknown) => boolean | PromiseLike<boolean>;
    return await ask(checked, { toolCallId, messages: [...messages], context: undefined });
  } catch {
    return true;
  }
}
