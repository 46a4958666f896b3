import type { ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { planSupport } from "../../../packages/plans/src/http/plan-support.ts";
import { transfers } from "../../../packages/transfer/src/transfers.ts";
import { finish, scriptedModel, text, toolCall } from "byref/testing";
import type { ConversationObject } from "../../../src/edge/conversation.ts";
import type { RuntimeOptions } from "../../../src/edge/create-runtime.ts";
import { canonicalJson, type Json } from "../../../src/value/json.ts";
import { json, problemIn, textOf } from "../../support/edge.ts";
import { NodeRuntime } from "../../support/node-runtime.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { approvalIn, ask, decide, messagesOf, paying } from "../../support/paying.ts";
import { planTools } from "../../support/planning.ts";
import { toolOf } from "../../support/tool-of.ts";
import { changed, fileOf, linesIn } from "../../support/transfer.ts";

const AT = "/conversations/c";

function newRuntime(
  bindings: object = {},
  tools: ToolSet = planTools(),
  model = scriptedModel([]),
) {
  const agents = [{ name: "a", description: "", instructions: "", tools }] as const;
  return new NodeRuntime({ agents, model, plans: planSupport(), transfer: transfers }, bindings);
}

/** Exports a conversation with a trusted variable of two versions and an approved plan. */
async function exported(): Promise<string> {
  const runtime = newRuntime();
  const send = async (method: string, path: string, body: unknown) =>
    (await runtime.ask(method, AT + path, json(body))).text();
  for (const value of [0, 1]) await send("PUT", "/variables/v", value);
  const plan = await send("POST", "/plans", { calls: [{ _tool: "echo", value: 1 }] });
  const { id } = JSON.parse(plan) as { id: string };
  await send("POST", `/plans/${id}/approve`, {});
  return (await runtime.ask("GET", `${AT}/export`)).text();
}

/** Imports the file and returns what is trusted in the copy, and what the import says. */
async function taken(file: string, query = "", bindings: object = {}) {
  const runtime = newRuntime(bindings);
  const ask = async (method: string, path: string, init = {}) =>
    JSON.parse(await (await runtime.ask(method, path, init)).text()) as Record<string, unknown>;
  const { findings = [] } = await ask("POST", `/conversations/import${query}`, { body: file });
  const { trusted } = await ask("GET", `${AT}/variables/v/info`);
  const again = linesIn(await (await runtime.ask("GET", `${AT}/export`)).text());
  const kept = again.find(({ type }) => type === "version");
  expect(kept?.info).toMatchObject({ name: "v", version: 1, trusted });
  const { plans } = await ask("GET", `${AT}/plans`);
  const [plan] = plans as readonly { readonly status: string }[];
  const codes = (findings as readonly { readonly code: string }[]).map(({ code }) => code);
  return { trusted, plan: plan?.status, codes };
}

const KEPT = { trusted: true, plan: "approved", codes: [] };
const LOWERED = {
  trusted: false,
  plan: "proposed",
  codes: ["labels_lowered", "approvals_withdrawn"],
};

type Change = (file: string) => string | Promise<string>;
const same: Change = (file) => file;
const sealedAgain: Change = (file) => fileOf(linesIn(file));
const sealOfOthers: Change = async (file) => {
  const seal = linesIn(file).at(-1)?.seal;
  const other = await changed(file, "byref", (line) => ({ ...line, title: "Other" }));
  return other.replace(/\}\n$/u, `,"seal":"${String(seal)}"}\n`);
};
const TICKET_SECRET = "another".repeat(8);

it.each([
  ["of this server is kept", same, "", {}, KEPT],
  ["that was changed and sealed again is not", sealedAgain, "", {}, LOWERED],
  ["of another server is not", same, "", { TICKET_SECRET }, LOWERED],
  ["with a seal of other lines is not", sealOfOthers, "", {}, LOWERED],
  ["that the importer trusts is kept", sealedAgain, "?labels=keep", {}, KEPT],
])("the trust and the approvals of a file %s", async (...row) => {
  const [, change, query, bindings, expected] = row;
  expect(await taken(await change(await exported()), query, bindings)).toEqual(expected);
});

it.each([
  ["?labels=keep", true],
  ["", undefined],
])("an evicted value is made again if its file is trusted: %j", async (query, isRepeatable) => {
  const evicted = { evictedAt: "2026-01-01T00:00:00.000Z", reason: "idle" };
  const call = { name: "gone", version: 1, tool: "echo", input: {}, isRepeatable: true };
  const line = { type: "tombstone", tombstone: { ...call, ...evicted } };
  const runtime = newRuntime();
  const body = await fileOf([...linesIn(await exported()), line]);
  await (await runtime.ask("POST", `/conversations/import${query}`, { body })).text();
  const again = linesIn(await (await runtime.ask("GET", `${AT}/export`)).text());
  const kept = again.find(({ type }) => type === "tombstone");
  expect(kept?.tombstone).toEqual({ ...call, ...evicted, isRepeatable });
});

it("does not run a plan whose run a file calls done", async () => {
  const file = await exported();
  const done = await changed(file, "plan", ({ plan, ...line }) => ({
    ...line,
    plan: { ...(plan as object), status: "done" },
  }));
  expect(await taken(done)).toEqual(LOWERED);
});

it("a fork has all parts of a message, media types of any length, and keys named __proto__", async () => {
  const shot = toolOf({ of: z.unknown(), type: z.string().default("") }, ({ type }) => ({
    bytes: new Uint8Array([1]),
    mediaType: type,
  }));
  const picture = { mediaType: "image/png", data: { type: "data", data: "aGk=" } } as const;
  const model = scriptedModel([
    [
      { type: "reasoning-file", ...picture },
      { type: "custom", kind: "a.b" },
      toolCall("shot", { of: "$__proto__" }, { id: "one" }),
      toolCall("shot", { of: 1, type: `x/${"y".repeat(999)}` }, { id: "two" }),
      finish("tool-calls"),
    ],
    "Done.",
  ]);
  const runtime = newRuntime({}, { shot }, model);
  const ask = async (method: string, path: string, init: RequestInit = {}) =>
    (await runtime.ask(method, `/conversations/${path}`, init)).text();
  await ask("PUT", "c/variables/__proto__", json(1));
  await ask("POST", "c/messages", json({ message: "Look." }));
  await ask("POST", "c/plans", json({ calls: [{ _id: "__proto__", _tool: "shot", of: 1 }] }));
  const { id } = JSON.parse(await ask("POST", "c/fork", json({}))) as { id: string };
  const recordsOf = async (conversation: string) => {
    const file = await ask("GET", `${conversation}/export`);
    const records = linesIn(file.replaceAll(/"accessedAt":"[^"]+",/gu, "")).filter(({ type }) =>
      /message|variable|plan/u.test(type),
    );
    expect(records).toHaveLength(7);
    return records.map((record) => canonicalJson(record as Json));
  };
  expect(await recordsOf(id)).toEqual(await recordsOf("c"));
});

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
