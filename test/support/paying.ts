import { tool } from "ai";
import * as z from "zod";
import type { Agent } from "../../src/turn/agent.ts";
import { json } from "./edge.ts";
import type { OwnRuntime } from "./own-runtime.ts";
import { scriptedModel, type Step } from "byref/testing";
import { chunksIn } from "./turn-client.ts";

/**
 * Returns the options of a runtime whose agent has a tool that needs approval, its model, and its payments.
 */
export function paying(steps: readonly Step[]) {
  const paid: unknown[] = [];
  const pay = tool({
    inputSchema: z.object({ amount: z.number() }),
    needsApproval: ({ amount }) => amount > 10,
    execute: ({ amount }) => {
      paid.push(amount);
      return { paid: amount };
    },
  });
  const agent: Agent = { name: "bank", description: "", instructions: "", tools: { pay } };
  const other: Agent = { name: "other", description: "", instructions: "", tools: {} };
  const model = scriptedModel(steps);
  return { paid, model, options: { agents: [other, agent] as const, model } };
}

const post = (own: OwnRuntime, message = "Pay.") =>
  own.call("POST", "/conversations/c/messages", json({ message, agent: "bank" }));
export const ask = async (own: OwnRuntime, message?: string) =>
  chunksIn(await (await post(own, message)).text());
export const decide = (own: OwnRuntime, id: string, body: object) =>
  own.call("POST", `/conversations/c/approvals/${id}`, json(body));
export const messagesOf = (own: OwnRuntime) =>
  own.conversation().readMessages({ limit: 10, form: "display" }).messages;

/** Approves these calls as the AI SDK's client does, each with its reason, or a long one. */
export async function decideAll(
  own: OwnRuntime,
  ids: readonly string[],
  reasons: readonly string[] = [],
  more: object = {},
): Promise<string> {
  const parts = ids.map((id, index) => ({
    type: "tool-pay",
    state: "approval-responded",
    approval: { id, approved: true, reason: reasons[index] ?? "r".repeat(1_000) },
    ...more,
  }));
  const init = json({ id: "c", messages: [{ id: "a", role: "assistant", parts }] });
  const response = await own.call("POST", "/conversations", init);
  return response.text();
}

/** Returns the approvals that the newest message waits for. */
export function approvalsIn(own: OwnRuntime): readonly string[] {
  return (messagesOf(own).at(-1)?.parts ?? []).flatMap((part) =>
    "approval" in part && part.state === "approval-requested" ? [part.approval.id] : [],
  );
}

/** Returns the first of them. */
export function approvalIn(own: OwnRuntime): string {
  const [first] = approvalsIn(own);
  if (first === undefined) throw new Error("Nothing waits.");
  return first;
}
