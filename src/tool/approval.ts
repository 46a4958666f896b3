import * as limits from "../limits.ts";
import { ByrefError } from "../errors.ts";
import type { Decision, PolicyCall } from "./policy.ts";
import type { PreparedCall, WrapOptions } from "./prepared-call.ts";
import { clip } from "../value/characters.ts";
import { isJsonArray, isScalar, type Json, type JsonObject } from "../value/json.ts";
import { charsOf } from "../value/json-text.ts";
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
  const given = hasSecret ? input : resolved;
  // The start of it as it is: what stands in for values tells nobody what would run.
  const shown = clip(
    JSON.stringify(startOf(given, { left: limits.maxApprovalChars })),
    limits.maxApprovalChars,
  );
  const more = charsOf(given, Infinity) - shown.length;
  return { reason, input: more > 0 ? `${shown}… (+${more} characters)` : shown };
}

/** The start of the value: somewhat more than `room.left` characters. */
function startOf(value: Json, room: { left: number }): Json {
  if (isScalar(value)) {
    const short = typeof value === "string" ? clip(value, limits.maxApprovalChars) : value;
    room.left -= String(short).length;
    return short;
  }
  // A reference to bytes has put them there (`store-lookup.ts`).
  if ((value as unknown) instanceof Uint8Array) return "[bytes]";
  const entries: [string, Json][] = [];
  for (const key of isJsonArray(value) ? value.keys() : Object.keys(value)) {
    if (room.left < 0) break;
    room.left -= String(key).length;
    entries.push([String(key), startOf((value as JsonObject)[key] ?? null, room)]);
  }
  return isJsonArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
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
