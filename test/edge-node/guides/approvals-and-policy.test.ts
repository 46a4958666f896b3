import { Chat } from "@ai-sdk/react";
import { type Agent, allOf, type Policy, requireTrusted } from "byref";
import {
  DefaultChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  tool,
  type UIMessage,
} from "ai";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import type { PolicyCall } from "../../../src/tool/policy.ts";
import { isJsonObject, type Json } from "../../../src/value/json.ts";
import { clientOf, failureOf } from "../../support/client.ts";
import { json, ORIGIN, textOf } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { approvalIn } from "../../support/paying.ts";
import { finish, scriptedModel, type Step, text, toolCall } from "byref/testing";

const url = ORIGIN;

function banking() {
  const paid: number[] = [];
  const transfer = (amount: number) => {
    paid.push(amount);
    return { paid: amount };
  };
  // --- agent
  const pay = tool({
    description: "Pays an amount in euros.",
    inputSchema: z.object({ amount: z.number() }),
    needsApproval: ({ amount }) => amount > 100,
    execute: ({ amount }) => transfer(amount),
  });
  const bank: Agent = {
    name: "bank",
    description: "Pays bills.",
    instructions: "Pay what the person asks for.",
    tools: { pay },
  };
  // ---
  return { paid, bank };
}

const pays = (amount: unknown): Step => [toolCall("pay", { amount }), finish("tool-calls")];
const thanks: Step = [text("Paid $pay_1.paid."), finish()];

async function asking(own: OwnRuntime, message = "Pay."): Promise<string> {
  const init = json({ message }, { accept: "text/plain" });
  return (await own.call("POST", "/conversations/c/messages", init)).text();
}

it("a call waits if its tool asks for approval, and a program decides", async () => {
  const { paid, bank } = banking();
  const model = scriptedModel([pays(250), thanks, pays(50), thanks]);
  await withRuntime({ agents: [bank], model }, async (own) => {
    await asking(own);
    expect([paid, own.conversation().about().status]).toEqual([[], "waiting"]);
    const conversation = clientOf(own).conversation("c");
    const approvalId = approvalIn(own);
    // --- decide
    const answer = await conversation.approvals.decide(approvalId, { approved: true }).text();
    // ---
    expect([paid, answer]).toEqual([[250], "Paid 250."]);
    const again = conversation.approvals.decide(approvalId, { approved: true }).text();
    expect(await failureOf(again)).toMatchObject({ code: "approval_not_found", status: 404 });
    await asking(own);
    expect(paid).toEqual([250, 50]);
  });
});

it("a person approves with another input", async () => {
  const { paid, bank } = banking();
  await withRuntime({ agents: [bank], model: scriptedModel([pays(250), thanks]) }, async (own) => {
    await asking(own);
    const conversation = clientOf(own).conversation("c");
    const approvalId = approvalIn(own);
    // --- input
    const answer = await conversation.approvals
      .decide(approvalId, { approved: true, input: { amount: 120 } })
      .text();
    // ---
    expect([paid, answer]).toEqual([[120], "Paid 120."]);
  });
});

it("the stock client answers", async () => {
  const { paid, bank } = banking();
  const model = scriptedModel([pays("$sum"), thanks, pays(500), [text("Then not."), finish()]]);
  await withRuntime({ agents: [bank], model }, async (own) => {
    await own.call("PUT", "/conversations/c/variables/sum", json(250));
    // The stock transport uses the global `fetch`.
    vi.stubGlobal("fetch", (to: string, init: RequestInit) =>
      own.call(init.method ?? "", to, init),
    );
    // --- useChat
    const chatOptions = {
      transport: new DefaultChatTransport({ api: `${url}/conversations`, body: { agent: "bank" } }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    };
    // ---
    const chat = new Chat<UIMessage>({ id: "c", ...chatOptions });
    const { addToolApprovalResponse } = chat;
    const shown: unknown[] = [];
    const mayRun = (descriptor: unknown) => shown.push(descriptor) === 1;
    const decide = async () => {
      const message = chat.messages.at(-1);
      if (message === undefined) throw new Error("There is no answer.");
      // --- page
      for (const part of message.parts) {
        if (!isToolUIPart(part) || part.state !== "approval-requested") continue;
        const { id, descriptor } = part.approval;
        await addToolApprovalResponse({ id, approved: mayRun(descriptor) });
      }
      // ---
      await vi.waitUntil(() => /Paid|not/.test(textOf(chat.messages.at(-1))));
    };
    await chat.sendMessage({ text: "Pay." });
    await decide();
    expect([paid, textOf(chat.messages.at(-1))]).toEqual([[250], "Paid 250."]);
    await chat.sendMessage({ text: "Pay more." });
    await decide();
    expect([paid, textOf(chat.messages.at(-1))]).toEqual([[250], "Then not."]);
    const reason = "pay runs when a person approves it.";
    expect(shown).toEqual([
      { reason, input: '{"amount":250}', sizes: [{ name: "amount", chars: 3 }] },
      { reason, input: '{"amount":500}', sizes: [{ name: "amount", chars: 3 }] },
    ]);
  });
});

const amountIn = (value: Json) =>
  isJsonObject(value) && typeof value.amount === "number" ? value.amount : 0;

// --- policy
const workdays: Policy = ({ tool, resolved, references, tainted }) => {
  if (tool !== "pay") return "allow";
  if (references.some(({ visibility }) => visibility === "secret")) return { deny: "no secrets" };
  if (tainted) return { ask: "The model has read what somebody else wrote." };
  return amountIn(resolved) < 1_000 ? "allow" : { ask: "That is a lot." };
};
// ---

it("a policy allows, denies and asks", async () => {
  const call = (more: Partial<PolicyCall>): PolicyCall => ({
    tool: "pay",
    input: {},
    resolved: { amount: 1 },
    references: [],
    tainted: false,
    ...more,
  });
  const key = { name: "key", visibility: "secret", sources: [], trusted: true } as const;
  const decided = [
    call({}),
    call({ resolved: { amount: 1_000 } }),
    call({ tainted: true }),
    call({ references: [key] }),
    call({ tool: "other", references: [key], tainted: true }),
  ].map(workdays);
  expect(decided).toEqual([
    "allow",
    { ask: "That is a lot." },
    { ask: "The model has read what somebody else wrote." },
    { deny: "no secrets" },
    "allow",
  ]);
});

// How policies are combined: test/tool/policy.test.ts.
it("policies are combined, the strictest wins, and single tools have policies of their own", async () => {
  const { bank } = banking();
  // --- policies
  const careful: Agent = {
    ...bank,
    policy: allOf(requireTrusted(["pay", "send_*"]), workdays),
    policies: {
      fetch_page: { trusted: false }, // somebody else writes what it returns
      delete_account: { approval: true }, // each call waits for a person
    },
  };
  // ---
  const { policy } = careful;
  const decide = (resolved: Json, tainted: boolean) =>
    policy?.({ tool: "pay", input: {}, resolved, references: [], tainted });
  expect([await decide({ amount: 7 }, false), await decide({ amount: 1_000 }, false)]).toEqual([
    "allow",
    { ask: "That is a lot." },
  ]);
  expect(JSON.stringify(await decide({ amount: 7 }, true))).toContain("untrusted data");
});
