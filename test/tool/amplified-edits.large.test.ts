import { expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { Json } from "../../src/value/json.ts";
import { callTool } from "../support/runtime-tool-calls.ts";
import { failureOf } from "../support/wrapped.ts";

const MAX_INPUT_CHARS = 65_536;

async function codeFor(
  store: MemoryStore,
  input: { readonly name: string; readonly edits: readonly Json[] },
) {
  expect(JSON.stringify(input).length).toBeLessThanOrEqual(MAX_INPUT_CHARS);
  const before = JSON.stringify(await store.read("a"));
  try {
    const { ran } = await callTool("edit_variable", input as unknown as Json, {
      store,
      inRun: false,
    });
    return ran.kind === "failed" ? failureOf(ran)?.code : "done";
  } catch (error) {
    return (error as { code: string }).code;
  } finally {
    // Refused edits change nothing.
    expect(JSON.stringify(await store.read("a"))).toBe(before);
  }
}

async function storeWith(value: Json): Promise<MemoryStore> {
  const store = new MemoryStore();
  await store.save({ name: "a", value });
  return store;
}

const all = (find: string, replace: string) => ({ find, replace, all: true });

it.each<[string, Json, readonly Json[], string]>([
  ["one long replacement", "a".repeat(10_000), [all("a", "b".repeat(60_000))], "$a"],
  ["a part of a value", { t: "a".repeat(10_000) }, [all("a", "b".repeat(60_000))], "$a.t"],
  [
    "each one replacing the text that the previous one added",
    "a",
    Array.from({ length: 10 }, (_, at) =>
      all(String.fromCharCode(97 + (at % 2)), String.fromCharCode(98 - (at % 2)).repeat(300)),
    ),
    "$a",
  ],
  [
    "the last of which would remove the added text",
    "a".repeat(1_000),
    [
      all("a", "b".repeat(1_000)),
      all("b", "c".repeat(20_000)),
      all("c".repeat(20_000), ""),
      all("x", "y"),
    ],
    "$a",
  ],
  [
    "that go back and forth",
    "a".repeat(200_000),
    Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? all("a", "b") : all("b", "a"))),
    "$a",
  ],
  [
    "the last of which would remove the added text in a part",
    { t: "a".repeat(200) },
    [all("a", "b".repeat(1_000)), all("b", "c".repeat(20_000)), all("c".repeat(20_000), "")],
    "$a.t",
  ],
])("edits that grow a text are refused: %s", async (...[, value, edits, name]) => {
  const input = { name, edits };
  expect(await codeFor(await storeWith(value), input)).toBe("limit_exceeded");
});

it.each<[string, readonly Json[]]>([
  [
    "that double",
    Array.from({ length: 100 }, (_, at) => ({ op: "copy", from: "", path: `/k${at}` })),
  ],
  [
    "after growth up to the limit",
    [
      ...Array.from({ length: 13 }, (_, at) => ({ op: "copy", from: "", path: `/k${at}` })),
      ...Array.from({ length: 87 }, (_, at) => ({ op: "copy", from: "/n", path: `/n${at}` })),
    ],
  ],
  [
    "and tests after growth up to the limit",
    [
      ...Array.from({ length: 13 }, (_, at) => ({ op: "copy", from: "", path: `/k${at}` })),
      ...Array.from({ length: 87 }, () => ({ op: "test", path: "/n", value: 1 })),
    ],
  ],
])("copies in a JSON Patch are refused: %s", async (_, edits) => {
  const store = await storeWith({ n: 1, t: "t".repeat(1_000) });
  expect(await codeFor(store, { name: "$a", edits })).toBe("limit_exceeded");
});

it("overlapping occurrences are searched in a single pass", async () => {
  const store = await storeWith("a".repeat(1_000_000));
  const edits = [all(`${"a".repeat(30_000)}b`, "")];
  expect(await codeFor(store, { name: "$a", edits })).toBe("edit_not_found");
});
