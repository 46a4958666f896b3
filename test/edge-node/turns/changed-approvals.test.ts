import { describe, expect, it } from "vitest";
import * as z from "zod";
import { finish, scriptedModel, text, toolCall } from "byref/testing";
import type { ErrorCode } from "../../../src/errors.ts";
import type { Policy } from "../../../src/tool/policy.ts";
import { clientOf } from "../../support/client.ts";
import { json, problemIn } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { approvalIn, approvalsIn, ask, decide, messagesOf } from "../../support/paying.ts";
import { chunksIn } from "../../support/turn-client.ts";
import { toolOf } from "../../support/tool-of.ts";

/** The model asks to pay 50 to `$payee`. */
const WRITTEN = { amount: 50, to: "$payee" };

async function withBank(work: (own: OwnRuntime, bank: Bank) => Promise<void>, policy?: Policy) {
  const paid: unknown[] = [];
  const pay = toolOf({ amount: z.number(), to: z.string() }, (input) => {
    paid.push(input);
    return input;
  });
  const policies = { pay: { approval: true } };
  const about = { name: "bank", description: "", instructions: "", tools: { pay }, policies };
  const agent = { ...about, ...(policy && { policy }) };
  const model = scriptedModel([
    [toolCall("pay", WRITTEN), finish("tool-calls")],
    [text("Done."), finish()],
  ]);
  await withRuntime({ agents: [agent], model }, async (own) => {
    const save = (name: string, value: unknown, query = "") =>
      own.call("PUT", `/conversations/c/variables/${name}${query}`, json(value));
    await save("payee", "Ann");
    await ask(own);
    await work(own, { paid, save, prompt: () => JSON.stringify(model.calls.at(-1)?.prompt) });
  });
}

interface Bank {
  readonly paid: readonly unknown[];
  readonly save: (name: string, value: unknown, query?: string) => Promise<Response>;
  readonly prompt: () => string;
}

const eventsOf = async (own: OwnRuntime) => {
  const response = await own.call("GET", "/conversations/c/events");
  return (await response.json<{ events: readonly { type: string }[] }>()).events;
};
const approve = (input: object) => ({ approved: true, input });

describe("an approval with another input", () => {
  it.each([
    ["whole", { input: { amount: 20, to: "$payee" } }],
    ["as a patch", { patch: [{ op: "replace", path: "/amount", value: 20 }] }],
    [
      "as a patch of it",
      {
        input: { amount: 9, to: "$payee" },
        patch: [{ op: "replace", path: "/amount", value: 20 }],
      },
    ],
  ])("%s runs, and is kept beside what was proposed", async (_how, change) => {
    await withBank(async (own, { paid, prompt }) => {
      const id = approvalIn(own);
      const response = await decide(own, id, { approved: true, reason: "Less.", ...change });
      const chunks = chunksIn(await response.text());
      expect(paid).toEqual([{ amount: 20, to: "Ann" }]);
      const descriptor = {
        input: '{"amount":50,"to":"Ann"}',
        changed: { input: { amount: 20, to: "$payee" }, resolved: '{"amount":20,"to":"Ann"}' },
      };
      expect(chunks).toContainEqual(
        expect.objectContaining({
          type: "tool-approval-request",
          approvalDescriptor: expect.objectContaining(descriptor),
        }),
      );
      const { id: message = "", parts = [] } = messagesOf(own).at(-1) ?? {};
      expect(parts[1]).toMatchObject({ input: WRITTEN, approval: { approved: true, descriptor } });
      expect(prompt()).toContain(
        JSON.stringify(
          'A person changed the input. In place of yours, this ran: {"amount":20,"to":"$payee"}',
        ).slice(1, -1),
      );
      const conversation = clientOf(own).conversation("c");
      expect((await conversation.receipt(message)).changes).toEqual([
        {
          call: expect.any(String),
          tool: "pay",
          proposed: WRITTEN,
          approved: descriptor.changed.input,
          effective: descriptor.changed.resolved,
        },
      ]);
      const events = await eventsOf(own);
      expect(events).toContainEqual(
        expect.objectContaining({ type: "approval.granted", approval: id, changed: true }),
      );
      expect(JSON.stringify(events)).not.toContain("Ann");
      // The same decision again, and another one.
      for (const amount of [20, 30]) {
        const again = await decide(own, id, approve({ amount, to: "$payee" }));
        await problemIn(again, "approval_not_found");
      }
      expect(paid).toHaveLength(1);
    });
  });

  it.each([
    ["the tool's schema refuses", "invalid_tool_input", approve({ amount: "much", to: "Ann" })],
    ["another conversation's value", "invalid_tool_input", approve({ amount: "$other", to: "Bo" })],
    ["a path that is not there", "path_not_found", approve({ amount: 1, to: "$payee.iban" })],
    [
      "a secret for a tool that may not have it",
      "variable_secret",
      approve({ amount: 1, to: "$key" }),
    ],
    ["the policy denies", "tool_denied", approve({ amount: 9_999, to: "Ann" })],
    [
      "a patch that leads nowhere",
      "edit_not_found",
      { approved: true, patch: [{ op: "remove", path: "/no" }] },
    ],
    [
      "a patch that leaves nothing",
      "invalid_tool_input",
      { approved: true, patch: [{ op: "replace", path: "", value: null }] },
    ],
    [
      "a patch whose test fails",
      "edit_conflict",
      { approved: true, patch: [{ op: "test", path: "/amount", value: 1 }] },
    ],
    ["no JSON Patch", "bad_request", { approved: true, patch: [{ op: "eval", path: "/amount" }] }],
    ["no object", "bad_request", { approved: true, input: 5 }],
    ["too long", "limit_exceeded", approve({ amount: 1, to: "x".repeat(2_000_000) })],
  ])("is refused with %s, and the call still waits", async (_what, code, decision) => {
    const policy: Policy = ({ resolved }) =>
      JSON.stringify(resolved).includes("9999") ? { deny: "Too much." } : "allow";
    await withBank(async (own, { paid, save }) => {
      await save("key", "k-123", "?visibility=secret");
      await own.call("PUT", "/conversations/elsewhere/variables/not_other", json(5));
      const before = approvalsIn(own);
      const problem = await problemIn(
        await decide(own, before[0] ?? "", decision),
        code as ErrorCode,
      );
      expect(JSON.stringify(problem)).not.toContain("k-123");
      expect([paid, approvalsIn(own)]).toEqual([[], before]);
      const events = await eventsOf(own);
      expect(events.map(({ type }) => type)).not.toContain("approval.granted");
    }, policy);
  });

  it("with a sealed value: the tool and the person see it, the model and the log do not", async () => {
    await withBank(async (own, { paid, save, prompt }) => {
      await save("iban", "DE99-SEALED", "?visibility=sealed");
      await (await decide(own, approvalIn(own), approve({ amount: 1, to: "$iban" }))).text();
      expect(paid).toEqual([{ amount: 1, to: "DE99-SEALED" }]);
      expect(prompt()).not.toContain("SEALED");
      expect(prompt()).toContain("$iban");
      const events = await eventsOf(own);
      expect(JSON.stringify(events)).not.toContain("SEALED");
      const saved = await own.call("GET", "/conversations/c/variables/pay_1/info");
      expect(await saved.json()).toMatchObject({ visibility: "sealed" });
    });
  });

  it("with a digest of the client's own: is compared with the server's", async () => {
    await withBank(async (own, { paid, save }) => {
      const forged = { ...approve({ amount: 1, to: "$payee" }), pin: "forged", digest: "forged" };
      await save("payee", "Eve");
      const [first = ""] = approvalsIn(own);
      const init = json(forged, { accept: "text/plain" });
      const response = await own.call("POST", `/conversations/c/approvals/${first}`, init);
      const said = await response.text();
      // What the person was shown is out of date: they are asked about what would run now, and nothing else.
      const [again = ""] = approvalsIn(own);
      expect(said).toBe(`\n[approval: ${again}]\n`);
      expect(paid).toEqual([]);
      expect(again).not.toBe(first);
      expect(messagesOf(own).at(-1)?.parts[1]).toMatchObject({
        input: WRITTEN,
        approval: { descriptor: { input: '{"amount":1,"to":"Eve"}' } },
      });
      own.wakeAgain();
      await own.awake();
      await (await decide(own, again, { approved: true })).text();
      expect(paid).toEqual([{ amount: 1, to: "Eve" }]);
    });
  });

  it("is read from the parts of a stock client, too", async () => {
    await withBank(async (own, { paid }) => {
      const approval = { id: approvalIn(own), approved: true, input: { amount: 7, to: "Bo" } };
      const parts = [{ type: "tool-pay", state: "approval-responded", approval }];
      const init = json({ id: "c", messages: [{ id: "a", role: "assistant", parts }] });
      await (await own.call("POST", "/conversations", init)).text();
      expect(paid).toEqual([{ amount: 7, to: "Bo" }]);
    });
  });
});
