import { jsonSchema, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Json } from "../../src/value/json.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { wrapTool } from "../../src/tool/tool-call.ts";
import type { AnyTool, WrapOptions } from "../../src/tool/wrapped-tool.ts";
import { failureOf, runOnce, storeWith } from "../support/wrapped.ts";
import { ByrefError } from "../../src/errors.ts";
import {
  requireOpen,
  requireOwnPlaces,
  requireReplaced,
  saveTargetIn,
  splitInput,
} from "../../src/tool/save-target.ts";
import { toolOf } from "../support/tool-of.ts";

const report = { total: 3 };
const act = toolOf({ id: z.string() }, () => report);
const choosing: Partial<WrapOptions> = { outputPath: true };

function runTo(path: Json, options: Partial<WrapOptions> = {}) {
  return runOnce(act, { id: "x", _outputPath: path }, { ...choosing, ...options });
}

describe("a result that is saved where the model says", () => {
  it.each([
    ["$report", "report", report],
    ["${report}", "report", report],
    ["variable:report", "report", report],
    ["†state.user.summary", "state", { user: { summary: report } }],
    ["$state['a key'].b", "state", { "a key": { b: report } }],
    [" $report ", "report", report],
  ])("%s", async (path, name, value) => {
    const { store, saved } = await runTo(path);
    expect(await store.read(name)).toEqual(value);
    expect(saved?.info).toMatchObject({ name, tool: "act", input: { id: "x" } });
    expect(store.count()).toBe(1);
  });

  it("has its default name if the model names no place", async () => {
    for (const input of [
      { id: "x" },
      { id: "x", _outputPath: null },
      { id: "x", _outputPath: "" },
    ]) {
      const { store } = await runOnce(act, input, choosing);
      expect(await store.read("act_x")).toEqual(report);
    }
  });

  it("keeps the model's description", async () => {
    const input = { id: "x", _outputPath: "$r", _description: "Of today." };
    const { saved } = await runOnce(act, input, choosing);
    expect(saved?.info?.description).toBe("Of today.");
  });

  it("is saved into an existing value, and its output names the part", async () => {
    const store = await storeWith({ state: { user: { name: "Ada" }, list: [1, 2] } });
    const { saved } = await runTo("$state.user.report", { store });
    expect(saved?.output).toEqual({ $var: "state", path: ".user.report", value: report });
    await runTo("$state.list[-1]", { store });
    expect(await store.read("state")).toEqual({ user: { name: "Ada", report }, list: [1, report] });
  });
});

describe("several places", () => {
  it("with && are either all written or none", async () => {
    const { store } = await runTo("†state.user.summary && †audit.summary");
    expect(await store.read("state")).toEqual({ user: { summary: report } });
    expect(await store.read("audit")).toEqual({ summary: report });
    const blocked = await storeWith({ audit: 5 });
    const saving = runTo("†state.summary && †audit.summary", { store: blocked });
    await expect(saving).rejects.toThrow(/is in the way/u);
    expect([await blocked.read("audit"), blocked.count()]).toEqual([5, 1]);
  });

  it("with || are one place: the first, or the one that the tool names", async () => {
    const { store } = await runTo("†ok.user || †failed.user");
    expect([await store.read("ok"), store.count()]).toEqual([{ user: report }, 1]);
  });

  it.each(["$failed.user", '†failed["user"]', " variable:failed.user "])(
    "with || are compared as places, not as text: %s",
    async (_outputPath) => {
      const chooses = toolOf({}, () => ({ _outputPath, value: "No." }));
      for (const path of ["†ok.user || †failed.user", "$ok.user || $failed.user"]) {
        const { store } = await runOnce(chooses, { _outputPath: path }, choosing);
        expect([await store.read("failed"), store.count()]).toEqual([{ user: "No." }, 1]);
      }
    },
  );

  it("are an error if the tool names another one, and nothing is written", async () => {
    const chooses = toolOf({}, () => ({ _outputPath: "$input", value: 1 }));
    const { run, store } = await runOnce(chooses, { _outputPath: "$a || $b" }, choosing);
    expect(failureOf(run)).toMatchObject({ code: "bad_path" });
    expect(store.count()).toBe(0);
  });
});

const secret = async () => {
  const store = new MemoryStore();
  await store.save({ name: "key", value: "k", visibility: "secret" });
  await store.save({ name: "seal", value: {}, visibility: "sealed" });
  return store;
};

it.each([
  ["$rows[*].id", "bad_path"],
  ["$rows[0:2]", "bad_path"],
  ["$a || ", "bad_path"],
  ["$input", "bad_name"],
  ["$new && $key", "variable_secret"],
  ["$new && $seal.a", "variable_sealed"],
  [5, "bad_path"],
  [["$a"], "bad_path"],
])("a place that cannot be written is refused before the tool runs: %j", async (path, code) => {
  let runs = 0;
  const counted = toolOf({}, () => ++runs);
  const store = await secret();
  const { run } = await runOnce(counted, { _outputPath: path as Json }, { ...choosing, store });
  expect([failureOf(run)?.code, runs, store.count()]).toEqual([code, 0, 2]);
});

describe("the parameter _outputPath", () => {
  const schemaOf = async (
    inputSchema: object,
    options: Partial<WrapOptions> & { strict?: true },
  ) => {
    const { strict, ...rest } = options;
    const made = { ...tool({ inputSchema: jsonSchema(inputSchema), execute: () => 1 }) };
    const given = strict === undefined ? made : { ...made, strict };
    const { shown } = await wrapTool("act", given as AnyTool, {
      store: new MemoryStore(),
      ...rest,
    });
    return (shown.inputSchema as { jsonSchema: { properties: object; required?: string[] } })
      .jsonSchema;
  };
  const plain = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };

  it("exists only if it is turned on, for all tools or for one", async () => {
    expect(Object.keys((await schemaOf(plain, {})).properties)).toEqual(["id"]);
    const keys = ["id", "_outputPath", "_description"];
    expect(Object.keys((await schemaOf(plain, choosing)).properties)).toEqual(keys);
    const one = { outputPath: { act: true } };
    expect(Object.keys((await schemaOf(plain, one)).properties)).toEqual(keys);
    const another = { outputPath: { other: true } };
    expect(Object.keys((await schemaOf(plain, another)).properties)).toEqual(["id"]);
  });

  it("is required and nullable in a strict schema", async () => {
    const schema = await schemaOf(plain, { ...choosing, strict: true });
    expect(schema.required).toEqual(["id", "_outputPath", "_description"]);
    expect(schema.properties).toMatchObject({ _outputPath: { type: ["string", "null"] } });
  });

  it("is the tool's own if it has one, and is passed to the tool", async () => {
    const own = { type: "object", properties: { _outputPath: { type: "string" } } };
    expect((await schemaOf(own, choosing)).properties).toEqual(own.properties);
    const echo = tool({ inputSchema: jsonSchema<object>(own as never), execute: (input) => input });
    const { store } = await runOnce(echo, { _outputPath: "$report" }, choosing);
    expect(store.info("report")).toBeUndefined();
    expect(store.count()).toBe(1);
  });
});

/** Returns code and message of what is thrown. */
function refusalOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof ByrefError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "none";
}

it.each([
  ["a || $b && c", "bad_alternatives: a || $b && c mixes || and &&; use one of them."],
  [
    "x".repeat(81),
    `bad_path: "${"x".repeat(80)}" is not a place to save to. Write $name or $name.key.`,
  ],
  ["report", 'bad_path: "report" is not a place to save to. Write $report.'],
  ["a b", 'bad_path: "a b" is not a place to save to. Write $name or $name.key.'],
  ["", 'bad_path: "" is not a place to save to. Write $name or $name.key.'],
  ["$a[*]", 'bad_path: "$a[*]" is not a place to save to. Write $name or $name.key.'],
  ["†input.x", "bad_name: †input.x is the caller's input; choose another name."],
  ["$a && $ab", "none"],
])("a target is refused with the reason: %s", (text, refusal) => {
  expect(refusalOf(() => saveTargetIn(text))).toBe(refusal);
});

/** Places, of a run if one is named. */
function target(text: string, run?: string) {
  const { operator, places } = saveTargetIn(text);
  return {
    operator,
    places: places.map((place) => (run === undefined ? place : { ...place, run })),
  };
}

const ofRun = target("$own_r1.a", "r1");

it.each<[string, string, (store: MemoryStore) => void]>([
  ["a new one, or one in a sealed one", "none", (s) => requireOpen(target("$new && $seal.x"), s)],
  ["a secret", "variable_secret", (s) => requireOpen(target("$new && $key"), s)],
  ["a run's own secret", "none", (s) => requireOpen(target("$own_r1"), s, "r1")],
  ["one of another run", "bad_name", (s) => requireOpen(target("$own_r1"), s, "r2")],
  ["a computed one", "bad_name", (s) => requireOpen(target("$computed.x"), s)],
  ["a guarded whole", "none", (s) => requireReplaced(target("$new.a && $key").places, {}, s)],
  ["a guarded part", "variable_sealed", (s) => requireReplaced(target("$key.a").places, {}, s)],
  ["that of a plan", "none", (s) => requireReplaced(ofRun.places, { isPlanned: true }, s)],
  ["that of a plan's run", "none", (s) => requireReplaced(ofRun.places, { saveTo: ofRun }, s)],
  ["that of a run, by a model", "variable_sealed", (s) => requireReplaced(ofRun.places, {}, s)],
  ["a secret result's own", "none", () => requireOwnPlaces(target("†a", "r1"))],
  ["a secret result's part", "variable_secret", () => requireOwnPlaces(target("†c && †a.b", "r1"))],
])("whether a place may be written: %s: %s", async (_, code, check) => {
  const store = await secret();
  await store.save({ name: "own_r1", value: {}, visibility: "secret", run: "r1" });
  const { glance } = store;
  store.glance = (name) =>
    name === "computed"
      ? ({ ...glance.call(store, "seal"), readOnly: true } as never)
      : glance.call(store, name);
  expect(refusalOf(() => check(store)).split(":")[0]).toBe(code);
});

it("the parameters about the result must be texts, and a description is shortened", () => {
  const refusal = (input: object) => refusalOf(() => splitInput(input as never));
  expect(refusal({ _outputPath: 5 })).toBe("bad_path: _outputPath must be text.");
  expect(refusal({ _description: ["a"] })).toBe("bad_path: _description must be text.");
  const { description } = splitInput({ _description: "x".repeat(501) });
  expect(description).toBe("x".repeat(500));
});
