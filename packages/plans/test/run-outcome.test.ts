import { describe, expect, it } from "vitest";
import * as limits from "../../../src/limits.ts";
import type { Plan, PlanOutput } from "../../../src/turn/plan.ts";
import { type RunRecord, namesOfRun } from "../src/plan/plan-record.ts";
import { bytesContent } from "../../../src/store/bytes/content.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { commitOutcome } from "../src/run/plan-turn.ts";
import type { Json } from "../../../src/value/json.ts";
import { runRecord } from "../../../test/support/plan-runs.ts";
import { planWith } from "../../../test/support/plans.ts";
import { slow } from "../../../test/support/slow.ts";

const planFor = (outputs: readonly PlanOutput[]): Plan => {
  const runNames = outputs.map(({ name }) => name);
  return planWith([], { format: "template", syntaxes: [], runNames, outputs, order: "written" });
};
const report: PlanOutput = { name: "report", mode: "append" };

const ended = (about: Partial<RunRecord> = {}) => runRecord("r1", { status: "done", ...about });

/** Returns a store in which a run has written these variables. */
async function written(own: Readonly<Record<string, Json>>, store = new MemoryStore()) {
  for (const [name, value] of Object.entries(own)) {
    await store.save({ name: `${name}_r1`, value, run: "r1" });
  }
  return store;
}

async function outcomeOf(
  store: MemoryStore,
  { plan = planFor([report]), record = ended() }: { plan?: Plan; record?: RunRecord } = {},
) {
  const saved = { record, state: null as Json };
  const plans = {
    saveRun: (ended: RunRecord) => void (saved.record = ended),
    saveState: (_: string, state: Json) => void (saved.state = state),
  };
  await commitOutcome({ plans, store, plan, record }, (close) => void close());
  return saved;
}

describe("the outcome of a run", () => {
  it("contains each output, even if its name is a key of the state, or if the state is not an object", async () => {
    const clash = await written({ state: { report: 1 }, report: "Done." });
    expect((await outcomeOf(clash)).state).toEqual({ report: 1, "variable:report": "Done." });
    const text = await written({ state: "text", report: "Done." });
    expect((await outcomeOf(text)).state).toEqual({ state: "text", report: "Done." });
    const only = await written({ report: "Done." });
    expect((await outcomeOf(only)).state).toEqual({ report: "Done." });
    expect((await outcomeOf(await written({}))).state).toEqual({});
  });

  it("is shown up to a maximum size, and as handles beyond it", slow, async () => {
    const long = "x".repeat(limits.maxRecordBytes - 10);
    const store = await written({ state: { a: "b" }, report: long, notes: "\n".repeat(600_000) });
    const outputs = [report, { name: "notes", mode: "replace" }] as const;
    const { state } = await outcomeOf(store, { plan: planFor(outputs) });
    expect(state).toEqual({ a: "b", report: { $var: "report" }, notes: { $var: "notes" } });
    expect(await store.read("report")).toBe(long);
  });

  it("is merged into the conversation's state, even if the plan outputs state", async () => {
    const store = await written({ state: { b: 2 } });
    await store.save({ name: "state", value: { a: 1 } });
    await outcomeOf(store, { plan: planFor([{ name: "state", mode: "replace" }]) });
    expect(await store.read("state")).toEqual({ a: 1, b: 2 });
  });
});

it("an output of a run that is retried replaces what the run has added before", async () => {
  const store = await written({ report: "A\n\nB" });
  const { version, updatedAt } = await store.save({ name: "report", value: "A" });
  const results = [{ output: "report", name: "report", version, updatedAt }];
  await outcomeOf(store, { record: ended({ results }) });
  expect(await store.read("report")).toBe("A\n\nB");
});

describe("a run's state that the conversation cannot take", () => {
  it("stays under the run's name, including bytes", async () => {
    const store = await written({ report: "Done." });
    const bytes = bytesContent(new Uint8Array([1, 2, 3]), "image/png");
    await store.save({ name: "state_r1", value: bytes, run: "r1", trusted: false });
    const { state, record } = await outcomeOf(store);
    expect(state).toEqual({ state: { $var: "state_r1" }, report: "Done." });
    expect(record.error).toMatch(/^state was kept as state_r1: /);
    const info = store.info("state_r1");
    expect(info).toMatchObject({
      bytes: 3,
      mediaType: "image/png",
      scope: "conversation",
      trusted: false,
    });
  });

  it("does not overwrite an existing value, but is saved beside it, with a handle", async () => {
    const store = await written({ state: { big: "x".repeat(limits.maxRecordBytes) } });
    await store.save({ name: "state", value: "a text" });
    const { state } = await outcomeOf(store);
    const { $var = "" } = state as { $var?: string };
    expect($var).toMatch(/^state_\d+$/);
    expect(await store.read($var)).toHaveProperty("big");
    expect(await store.read("state")).toBe("a text");
  });
});

const run = "r12345678";
const long = "n".repeat(limits.maxNameChars);
const longest = "n".repeat(limits.maxNameChars - run.length - 1);

it("the names of a run's own variables are shortened uniquely if there is no room for the id", () => {
  const names = ["_1", long, `${longest}x`, "x"];
  const own = namesOfRun(run, names);
  expect(new Set(own).size).toBe(own.length);
  for (const name of own) {
    expect(name.endsWith(`_${run}`)).toBe(true);
    expect(name.length).toBeLessThanOrEqual(limits.maxNameChars);
  }
});
