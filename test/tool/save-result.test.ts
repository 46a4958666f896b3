import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as limits from "../../src/limits.ts";
import { Labels, Taint } from "../../src/store/labels.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { runtimeTool } from "../../src/tool/runtime-tool.ts";
import { saveTargetIn } from "../../src/tool/save-target.ts";
import { wrapRuntimeTool, wrapTool } from "../../src/tool/tool-call.ts";
import type { CallOptions, WrapOptions } from "../../src/tool/wrapped-tool.ts";
import type { Json } from "../../src/value/json.ts";
import { call, run, runOnce, storeWith } from "../support/wrapped.ts";

const longText = "word ".repeat(limits.maxShownResultChars);
const keepAs = { base: "kept", numbered: true, inputDigest: "d" };
const planned: CallOptions = { ...call, keepAs, isPlanned: true };

interface Saving extends Partial<WrapOptions> {
  readonly input?: Json;
  readonly calling?: Partial<CallOptions>;
}

/** Runs a tool named `act` that returns the value, and saves its result. */
async function save(value: Json, { input = {}, calling, ...options }: Saving = {}) {
  const store = options.store ?? new MemoryStore();
  const act = tool({ inputSchema: z.any(), execute: () => value });
  const wrapped = await wrapTool("act", act, { ...options, store });
  const ran = await run(wrapped, input, { ...call, ...calling });
  if (ran.kind === "failed") throw new Error(ran.message);
  return { saved: await ran.save(), changes: ran.changes, store };
}

async function saveShown(output: Json, calling: Partial<CallOptions>, more = {}) {
  const store = new MemoryStore();
  await store.save({ name: "seal", value: 1, visibility: "sealed" });
  const give = runtimeTool({
    name: "give",
    description: "Gives.",
    inputSchema: z.object({ value: z.any() }),
    execute: (_, { labels }) => {
      if ("reads" in more) labels.add("seal");
      return { output, ...more };
    },
  });
  const wrapped = await wrapRuntimeTool(give, { store });
  const ran = await run(wrapped, { value: 1 }, { ...call, ...calling });
  if (ran.kind === "failed") throw new Error(ran.message);
  return { saved: await ran.save(), store };
}

const namesIn = (store: Pick<MemoryStore, "list">) => store.list().map(({ name }) => name);

it("a result of a plan's call is not kept if there is no room for it beside its place", async () => {
  const store = new MemoryStore({ quotaBytes: longText.length + 1_000 });
  const saveTo = saveTargetIn("$report");
  const { saved } = await save(longText, { store, calling: { ...planned, saveTo } });
  expect(namesIn(store)).toEqual(["report"]);
  expect(saved).toMatchObject({ info: { name: "report" }, shown: { $var: "report" } });
  expect(saved).not.toHaveProperty("kept");
});

it("what a built-in tool answers to a plan is its value, unless that is guarded", async () => {
  const value = { whole: longText };
  const whole = await saveShown("short", planned, { value });
  expect([whole.saved.output, await whole.store.read("kept_1")]).toEqual(["short", value]);
  const { saved, store } = await saveShown("short", planned, { value, reads: true });
  expect([saved.shown, saved.kept, namesIn(store)]).toEqual(["short", undefined, ["seal"]]);
});

it("what a built-in tool answers to a plan is marked if it is untrusted", async () => {
  expect((await saveShown({ a: 1 }, {}, { untrusted: true })).saved.output).toEqual({
    a: 1,
    untrusted: true,
  });
  expect((await saveShown("a", {}, { untrusted: true })).saved.output).toEqual({
    shown: "a",
    untrusted: true,
  });
});

describe("a result that exceeds the quota", () => {
  const full = () => new MemoryStore({ quotaBytes: 100 });

  it("is not kept, and its output says so", async () => {
    const { saved, store } = await save(longText, { store: full() });
    expect(saved).toEqual({
      output: {
        notKept: expect.stringMatching(/not kept as a variable: .*100/u),
        type: "string",
        count: longText.length,
        shape: "string",
        preview: expect.any(String),
      },
    });
    expect(namesIn(store)).toEqual([]);
  });

  it("taints the turn only if it is untrusted and shown", async () => {
    for (const [trusted, untrusted, isTainted] of [
      [true, "show", false],
      [false, "show", true],
      [false, "hide", false],
    ] as const) {
      const taint = new Taint();
      await save(longText, { store: full(), taint, untrusted, policies: { act: { trusted } } });
      expect([trusted, untrusted, taint.isTainted]).toEqual([trusted, untrusted, isTainted]);
    }
  });

  it("is refused without its size if it is sealed", async () => {
    const store = new MemoryStore({ quotaBytes: 1 });
    const { saved } = await save(longText, { store, policies: { act: { sealed: true } } });
    expect(saved).toEqual({
      output: { notKept: "This result was not kept as a variable: it is too large." },
      shown: { visibility: "sealed" },
    });
    expect(namesIn(store)).toEqual([]);
  });
});

it("a result for a place that it does not fit is an error that names what is in the way", async () => {
  const store = await storeWith({ text: "a text" });
  const saving = save(1, { store, calling: { saveTo: saveTargetIn("$text.b") } });
  await expect(saving).rejects.toMatchObject({
    code: "bad_value",
    message: expect.stringContaining("in the way"),
  });
});

it("a result for a place that it does not fit reveals nothing of a variable that has become guarded", async () => {
  const store = await storeWith({ text: "a text" });
  const saveTo = saveTargetIn("$text.b");
  const act = tool({ inputSchema: z.any(), execute: () => 1 });
  const ran = await run(await wrapTool("act", act, { store }), {}, { ...call, saveTo });
  await store.save({ name: "text", value: "a text", visibility: "sealed" });
  const saving = async () => ran.kind === "done" && ran.save();
  await expect(saving()).rejects.toMatchObject({ code: "variable_sealed" });
});

it("a secret result for a part of a run's variable is refused before the tool runs", async () => {
  const store = await storeWith({ key: "k" });
  await store.save({ name: "key", value: "k", visibility: "secret" });
  let runs = 0;
  const act = tool({ inputSchema: z.any(), execute: () => ++runs });
  const policies = { act: { secrets: ["key"] } };
  const { operator, places } = saveTargetIn("†state.a");
  const saveTo = { operator, places: places.map((place) => ({ ...place, run: "r1" })) };
  const wrapped = await wrapTool("act", act, { store, policies });
  const ran = await run(wrapped, { k: "$key" }, { ...call, saveTo });
  expect([ran.kind === "failed" ? ran.code : "done", runs]).toEqual(["variable_secret", 0]);
});

it("the variable of a result is a handle above the tool's own limit for shown results", async () => {
  const policies = { act: { inlineChars: 10 } };
  expect((await save("x".repeat(8), { policies })).saved.output).toHaveProperty("value");
  expect((await save("x".repeat(9), { policies })).saved.output).toHaveProperty("preview");
});

it("the variable of a result is changed by name only if a place was chosen", async () => {
  expect((await save(1)).changes).toEqual([]);
  const saveTo = saveTargetIn("$a && $b.c");
  expect((await save(1, { calling: { saveTo } })).changes).toEqual(["a", "b"]);
});

it("the variable of a result keeps the input of a call from code only if that is neither guarded nor untrusted", async () => {
  for (const [guard, isKept] of [
    [{}, true],
    [{ visibility: "sealed" }, false],
    [{ trusted: false }, false],
  ] as const) {
    const store = new MemoryStore();
    await store.save({ name: "source", value: "v", ...guard });
    const madeOf = new Labels(store);
    madeOf.add("source");
    const { saved } = await save(1, { store, input: { city: "Rome" }, calling: { madeOf } });
    expect(saved.info?.input).toEqual(isKept ? { city: "Rome" } : undefined);
    expect(saved.info?.name).toBe(isKept ? "act_rome" : "act_1");
  }
});

const asked: Json[] = [];
const naming = (_tool: string, _input: unknown, output: Json) => {
  asked.push(output);
  return "chosen";
};
const nameWith = async (options: Saving) =>
  (await save("v", { naming, ...options })).saved.info?.name;

it("a name that an application chooses is never made from guarded or hidden inputs", async () => {
  const store = new MemoryStore();
  await store.save({ name: "seal", value: "Rome", visibility: "sealed" });
  expect(await nameWith({ store, input: { city: "$seal" } })).toBe("act_1");
  const mails = new MemoryStore();
  await mails.save({ name: "mail", value: "Rome", trusted: false });
  const name = await nameWith({ store: mails, input: { city: "$mail" }, untrusted: "hide" });
  expect(name).toBe("act_mail");
});

describe("the name of a result", () => {
  const echo = tool({ inputSchema: z.any(), execute: (input: Json) => input });

  async function namesOf(inputs: readonly Json[], options: Partial<WrapOptions> = {}) {
    const store = options.store ?? (await storeWith({ nyc: "NYC", n: 1 }));
    const infos = [];
    for (const input of inputs)
      infos.push((await runOnce(echo, input, { ...options, store })).saved);
    return infos.map((saved) => `${saved?.info?.name} v${saved?.info?.version}`);
  }

  it("is the same for the same call, however it is written, with a new version", async () => {
    const inputs = [
      { city: "NYC", n: 1 },
      { n: 1, city: "NYC" },
      { city: "$nyc", n: "$n" },
      { city: "nyc", n: 1 },
      { city: "NYC", n: 2 },
      { city: "NYC", n: 1 },
    ];
    expect((await namesOf(inputs)).join(", ")).toBe(
      "act_nyc v1, act_nyc v2, act_nyc v3, act_nyc_2 v1, act_nyc_3 v1, act_nyc v4",
    );
  });
});
