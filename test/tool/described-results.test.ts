import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { Content } from "../../src/store/bytes/content.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { Write } from "../../src/store/variable-store.ts";
import type { VariableInfo } from "../../src/store/variable.ts";
import {
  describesUntrusted,
  guardedView,
  type Handle,
  notKept,
  type OutputOptions,
  toolOutput,
  variableIn,
  tryPaths,
} from "../../src/tool/tool-output.ts";
import { previewOf } from "../../src/value/preview.ts";

async function outputOf(write: Omit<Write, "name">, options?: OutputOptions) {
  const info = await new MemoryStore().save({ ...write, name: "it" });
  return toolOutput(info, write.value instanceof Content ? undefined : write.value, options);
}

const unresolved = [1, 2, 3, 4, 5, 6].map((number) => ({
  reference: `$x${number}`,
  code: "variable_not_found" as const,
}));
const path = [{ key: "a" }, { index: 0 }];

describe("the output for a value", () => {
  it("has its path, and up to five references that were not resolved", async () => {
    expect(await outputOf({ value: 1 }, { path, unresolved })).toEqual({
      $var: "it",
      value: 1,
      path: ".a[0]",
      unresolved: unresolved.slice(0, 5),
    });
  });

  it("says that it is untrusted, if it is", async () => {
    expect(await outputOf({ value: 1, trusted: false })).toEqual({
      $var: "it",
      value: 1,
      untrusted: true,
    });
    expect(await outputOf({ value: 1 }, { hidesUntrusted: true })).toEqual({
      $var: "it",
      value: 1,
    });
  });

  it("has only type and count if untrusted values are hidden", async () => {
    const options = { hidesUntrusted: true, path, unresolved: unresolved.slice(0, 1) };
    expect(await outputOf({ value: [7, 8], trusted: false }, options)).toEqual({
      $var: "it",
      visibility: "hidden",
      type: "array",
      count: 2,
      path: ".a[0]",
      unresolved: unresolved.slice(0, 1),
    });
  });

  it("has type and count if it is sealed, and nothing of a failed call", async () => {
    expect(await outputOf({ value: [7, 8], visibility: "sealed" }, { path, unresolved })).toEqual({
      $var: "it",
      visibility: "sealed",
      type: "array",
      count: 2,
      path: ".a[0]",
    });
  });
});

describe("what a model may see of a guarded variable", () => {
  it.each<[string, Partial<VariableInfo>, object | undefined]>([
    ["nothing else", { visibility: "model", flags: ["derived"] }, undefined],
    ["type and count", { visibility: "sealed" }, { visibility: "sealed", type: "array", count: 3 }],
    [
      "type and count of a result with other flags",
      { visibility: "sealed", flags: ["composed"] },
      { visibility: "sealed", type: "array", count: 3 },
    ],
    [
      "no type of a derived one",
      { visibility: "sealed", flags: ["derived"] },
      { visibility: "sealed" },
    ],
    ["no type of a secret", { visibility: "secret" }, { visibility: "secret" }],
  ])("is %s", (_, info, expected) => {
    const known = { type: "array", count: 3, visibility: "model", ...info } as const;
    expect(guardedView(known as VariableInfo)).toStrictEqual(expected);
  });

  it("may be untrusted text only if it is shown, and not computed", () => {
    const of = (info: Partial<VariableInfo>) =>
      describesUntrusted({ visibility: "model", trusted: false, ...info } as VariableInfo);
    expect([of({}), of({ readOnly: true }), of({ trusted: true })]).toEqual([true, false, false]);
    expect([of({ visibility: "sealed" }), of({ visibility: "secret" })]).toEqual([false, false]);
  });
});

describe("a result that is not kept", () => {
  const value = [{ a: 1 }];
  const shown = { type: "array", count: 1, shape: "{a: number}[]", preview: '[{"a":1}]' };
  const said = (why: string) => `This result was not kept as a variable: ${why}`;

  it("says why, with what is known of it", () => {
    expect(notKept({ value }, "No room.")).toEqual({ notKept: said("No room."), ...shown });
    expect(notKept({ value, trusted: false }, "No room.")).toEqual({
      notKept: said("No room."),
      ...shown,
      untrusted: true,
    });
    expect(notKept({ value }, "No room.", true)).toEqual({ notKept: said("No room."), ...shown });
  });

  it("says nothing else of guarded, hidden or streamed content", async () => {
    const guarded = { notKept: said("it is too large.") };
    expect(notKept({ value, visibility: "sealed" }, "It has 9 keys.")).toEqual(guarded);
    expect(notKept({ value, visibility: "secret" }, "It has 9 keys.")).toEqual(guarded);
    const hidden = notKept({ value, trusted: false }, "No room.", true);
    expect(hidden).toEqual({ notKept: said("No room.") });
    const bytes = await new MemoryStore().receive(new Blob(["x"]).stream(), "image/png");
    expect(notKept({ value: bytes }, "No room.")).toEqual({ notKept: said("No room.") });
  });
});

describe("a handle", () => {
  const handleFor = (info: VariableInfo, value: string | object | undefined) =>
    toolOutput(info, value as never, { inlineChars: 1 }) as Handle;
  const infoOf = (write: Omit<Write, "name">) => new MemoryStore().save({ ...write, name: "it" });

  /** Returns a handle which has this many characters too many before it is shortened. */
  async function shortenedBy(excess: number) {
    const value = "p".repeat(500);
    const info = await infoOf({ value });
    const preview = previewOf(value, 60);
    const { $var, type, count, bytes } = { ...info, $var: info.name };
    const whole = { $var, type, count, bytes, tokens: 130, shape: "", preview, try: ["$it[:500]"] };
    const chars = limits.maxHandleChars + excess - JSON.stringify(whole).length;
    const shape = "s".repeat(chars);
    const handle = handleFor({ ...info, shape }, value);
    return { handle, isWhole: handle.shape === shape, chars: JSON.stringify(handle).length };
  }

  it("has a shorter preview if it would be too long", async () => {
    for (const [excess, preview] of [
      [0, 60],
      [1, 50],
      [10, 50],
      [11, 49],
      [40, 20],
    ] as const) {
      const { handle, isWhole } = await shortenedBy(excess);
      expect([excess, handle.preview.length, handle.try, isWhole]).toEqual([
        excess,
        preview,
        ["$it[:500]"],
        true,
      ]);
    }
  });

  it("leaves out the last references first, and no more than necessary", async () => {
    const value = { a: "p".repeat(500), b: 1, c: 2, d: 3 };
    const info = await infoOf({ value });
    for (const length of [500, 520, 540, 560, 580, 600, 620, 640]) {
      const keys = "{a: string, b: number, c: number, d: number, : null}";
      const shape = keys.replace(", :", `, ${"k".repeat(length - keys.length)}:`);
      const handle = handleFor({ ...info, shape }, value);
      const all = tryPaths({ ...info, shape }).map(({ type }, at) => `$it.${"abcd"[at]}: ${type}`);
      expect(handle.try).toEqual(all.slice(0, handle.try.length));
      const chars = (given: readonly string[]) => JSON.stringify({ ...handle, try: given }).length;
      expect(chars(handle.try)).toBeLessThanOrEqual(limits.maxHandleChars);
      if (handle.try.length === all.length) continue;
      expect(handle.preview.length).toBeLessThanOrEqual(20);
      if (handle.shape !== shape) continue;
      expect(chars(all.slice(0, handle.try.length + 1))).toBeGreaterThan(limits.maxHandleChars);
    }
  });
});

it("variableIn returns the variable that an output stands for, and undefined for other values", () => {
  expect(variableIn({ $var: "it", value: 1 })).toBe("it");
  const others = [null, undefined, "it", 1, [], {}, { $var: 1 }, { var: "it" }];
  expect(others.map(variableIn)).toEqual(others.map(() => undefined));
});
