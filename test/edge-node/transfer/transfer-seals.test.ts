import { expect, it } from "vitest";
import { planSupport } from "../../../packages/plans/src/http/plan-support.ts";
import { transfers } from "../../../packages/transfer/src/transfers.ts";
import { scriptedModel } from "byref/testing";
import { json } from "../../support/edge.ts";
import { NodeRuntime } from "../../support/node-runtime.ts";
import { changed, fileOf, linesIn } from "../../support/transfer.ts";
import { planTools } from "../../support/planning.ts";

const AT = "/conversations/c";

function newRuntime(bindings: object = {}): NodeRuntime {
  const agents = [{ name: "a", description: "", instructions: "", tools: planTools() }] as const;
  const model = scriptedModel([]);
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
