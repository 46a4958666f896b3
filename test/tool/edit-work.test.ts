import { expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { Json } from "../../src/value/json.ts";
import { callTool } from "../support/runtime-tool-calls.ts";

const times = (count: number, edit: (n: number) => object) =>
  Array.from({ length: count }, (_, n) => edit(n));

it.each<[what: string, limit: string, edits: readonly object[]]>([
  [
    "a long text is searched often",
    "maxReadWork",
    times(100, () => ({ find: "$long", replace: "" })),
  ],
  [
    "a large value is added often",
    "maxInsertedChars",
    times(100, (n) => ({ op: "add", path: `/k${n}`, value: "$long" })),
  ],
  [
    "a value is tested against a large one often",
    "maxInsertedChars",
    times(100, () => ({ op: "test", path: "", value: "$long" })),
  ],
  [
    "a wide value is copied, changed and copied again",
    "maxReadWork",
    times(99, (n) =>
      n % 3 === 0
        ? { op: "copy", from: "/wide", path: "/copy" }
        : n % 3 === 1
          ? { op: "add", path: "/wide/a", value: n }
          : { op: "remove", path: "/copy" },
    ),
  ],
  [
    "small parts of a wide value are copied often",
    "maxReadWork",
    times(100, (n) => ({ op: "copy", from: "/wide/k0", path: `/wide/c${n}` })),
  ],
])("edits of less than 10 KB are refused when %s", async (_, limit, edits) => {
  const store = new MemoryStore();
  const wide = Object.fromEntries(
    times(40_000, (n) => ({ n })).map((one, n) => [`key_number_k${n}`, one]),
  );
  await store.save({ name: "long", value: "x".repeat(4_000_000) });
  const isText = edits.every((one) => "find" in one);
  await store.save({ name: "v", value: isText ? "xyz" : { wide: { ...wide, k0: 1 } } });
  expect(JSON.stringify(edits).length).toBeLessThan(10_000);
  const input = { name: "v", edits } as unknown as Json;
  const { ran } = await callTool("edit_variable", input, { store, inRun: false });
  expect(ran).toMatchObject({
    kind: "failed",
    code: "limit_exceeded",
    message: expect.stringContaining(limit),
  });
});
