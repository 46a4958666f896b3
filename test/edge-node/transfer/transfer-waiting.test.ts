import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { ConversationObject } from "../../../src/edge/conversation.ts";
import type { RuntimeOptions } from "../../../src/edge/create-runtime.ts";
import { transfers } from "../../../packages/transfer/src/transfers.ts";
import { json, problemIn, textOf } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { approvalIn, ask, decide, messagesOf, paying } from "../../support/paying.ts";
import { finish, scriptedModel, text, toolCall } from "byref/testing";
import { toolOf } from "../../support/tool-of.ts";

const BANK = { name: "bank", description: "", instructions: "" } as const;

/** Calls the object directly: in these tests every id leads to the same object. */
function transfer(conversation: ConversationObject, what: "export" | "import", body?: string) {
  const path = what === "export" ? "conversations/c/export" : "transfer/import?id=c";
  const init = body === undefined ? {} : { method: "POST", body };
  return conversation.fetch(new Request(`http://conversation/${path}`, init));
}

/** Exports the conversation, deletes it and imports it again. */
async function moved(own: OwnRuntime, between = () => {}): Promise<void> {
  const file = await (await transfer(own.conversation(), "export")).text();
  await own.conversation().deleteAll();
  between();
  const response = await transfer(own.conversation(), "import", file);
  expect([response.status, await response.json()]).toMatchObject([201, { id: "c" }]);
}

function withTransfers<Result>(
  options: RuntimeOptions,
  work: (own: OwnRuntime) => Promise<Result>,
) {
  return withRuntime({ ...options, transfer: transfers }, work);
}

describe("in a copy of an unfinished conversation,", () => {
  it("a waiting call is denied with a reason; asked again, it is a new call", async () => {
    const pay = [toolCall("pay", { amount: "$sum" }), finish("tool-calls")];
    const { paid, model, options } = paying([pay, pay, [text("Paid $pay_1.paid."), finish()]]);
    await withTransfers(options, async (own) => {
      await own.call("PUT", "/conversations/c/variables/sum", json(50));
      await ask(own);
      const approval = approvalIn(own);
      await moved(own);
      own.wakeAgain();
      await own.awake();
      expect(own.conversation().about().status).toBe("idle");
      expect(messagesOf(own).at(-1)?.parts.at(-1)).toMatchObject({
        state: "output-denied",
        approval: { id: approval, approved: false, reason: expect.stringMatching(/is a copy/) },
      });
      await problemIn(await decide(own, approval, { approved: true }), "approval_not_found");
      expect(paid).toEqual([]);
      await ask(own, "Pay after all.");
      // The model reads the outcome of the first call.
      expect(JSON.stringify(model.calls[1]?.prompt)).toContain("is a copy");
      await (await decide(own, approvalIn(own), { approved: true })).text();
      expect([paid, textOf(messagesOf(own).at(-1))]).toEqual([[50], "Paid 50."]);
      expect(own.conversation().about().status).toBe("idle");
    });
  });

  it("calls of a running step are missing, and the original continues", async () => {
    const begun = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const taken: unknown[] = [];
    const take = toolOf({ it: z.unknown() }, async (given) => {
      taken.push(given.it);
      begun.resolve();
      await released.promise;
      return { given: given.it };
    });
    const calls = [
      ...toolCall("take", { it: 1, _outputPath: "$first" }, { id: "first" }),
      ...toolCall("take", { it: "$first.given" }, { id: "second" }),
    ];
    const agent = { ...BANK, tools: { take }, outputPath: true } as const;
    const model = scriptedModel([
      [...calls, finish("tool-calls")],
      [text("Taken."), finish()],
    ]);
    await withTransfers({ agents: [agent], model }, async (own) => {
      const asked = ask(own, "Take it.");
      await begun.promise;
      const file = await (await transfer(own.conversation(), "export")).text();
      const other = scriptedModel([[text("Nothing was taken."), finish()]]);
      await withTransfers({ agents: [agent], model: other }, async (copy) => {
        expect((await transfer(copy.conversation(), "import", file)).status).toBe(201);
        copy.wakeAgain();
        await copy.awake();
        expect(copy.conversation().about().status).toBe("idle");
        expect(messagesOf(copy).map(({ role }) => role)).toEqual(["user"]);
        await ask(copy, "What was taken?");
        expect(textOf(messagesOf(copy).at(-1))).toBe("Nothing was taken.");
        expect(taken).toEqual([1]);
      });
      released.resolve();
      await asked;
      expect([taken, textOf(messagesOf(own).at(-1))]).toEqual([[1, 1], "Taken."]);
    });
  });
});
