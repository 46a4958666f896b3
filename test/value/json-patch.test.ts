import { applyPatch } from "diff";
import fc from "fast-check";
import specTests from "json-patch-test-suite/spec_tests.json" with { type: "json" };
import tests from "json-patch-test-suite/tests.json" with { type: "json" };
import { describe, expect, it } from "vitest";
import { canonicalJson, deepFreeze, type Json } from "../../src/value/json.ts";
import { patchJson, type PatchOperation } from "../../src/value/json-patch.ts";
import { diffOfJson } from "../../src/value/line-diff.ts";

interface Case {
  readonly doc: Json;
  readonly patch: readonly PatchOperation[];
  readonly expected?: Json;
  readonly error?: string;
  readonly comment?: string;
  readonly disabled?: boolean;
}

const cases = [...(specTests as readonly Case[]), ...(tests as readonly Case[])].filter(
  ({ patch, disabled }) => patch !== undefined && disabled !== true,
);

const run = (doc: Json, patch: readonly PatchOperation[]) => patchJson(doc, patch);

/** True for operations that the tool's schema accepts. */
const isComplete = ({ op, path, ...rest }: PatchOperation & { from?: string; value?: Json }) =>
  ["add", "remove", "replace", "move", "copy", "test"].includes(op) &&
  typeof path === "string" &&
  (!["move", "copy"].includes(op) || rest.from !== undefined) &&
  (!["add", "replace", "test"].includes(op) || rest.value !== undefined);

describe("a JSON Patch", () => {
  it.each(cases.map((one, index) => [index, one.comment ?? "", one] as const))(
    "passes the published test %i: %s",
    (_index, _comment, { doc, patch, expected, error }) => {
      const given = deepFreeze(structuredClone(doc));
      if (!patch.every(isComplete)) return;
      if (error === undefined) {
        expect(canonicalJson(run(given, patch))).toBe(canonicalJson(expected ?? doc));
      } else {
        expect(() => run(given, patch)).toThrow(
          expect.objectContaining({ code: expect.any(String) }),
        );
      }
      expect(given).toEqual(doc);
    },
  );

  it("keeps a key named __proto__, and shares unchanged parts", () => {
    const given = deepFreeze(JSON.parse('{"a":{"b":1},"__proto__":{"c":2}}') as Json);
    const made = patchJson(given, [{ op: "add", path: "/__proto__/d", value: 3 }]);
    expect(JSON.stringify(made)).toBe('{"a":{"b":1},"__proto__":{"c":2,"d":3}}');
    expect((made as { a: Json }).a).toBe((given as { a: Json }).a);
    // Of two places of one part, one changes.
    const [copy, replace] = [
      { op: "copy", path: "/c", from: "/a" },
      { op: "replace", path: "/c/b", value: 2 },
    ] as const;
    expect(patchJson({ a: { b: 1 } }, [copy, replace])).toEqual({ a: { b: 1 }, c: { b: 2 } });
  });

  it("reports the existing keys or elements at a missing path", () => {
    const at = (path: string) => () => patchJson({ a: [1], b: 2 }, [{ op: "remove", path }]);
    expect(at("/c")).toThrow("/c leads nowhere. The value has the keys a, b.");
    const odd = { "a/b": 1, "a~b": 2 };
    const miss = () => run(odd, [{ op: "replace", path: "/a", value: 1 }]);
    expect(miss).toThrow("/a leads nowhere. The value has the keys a~1b, a~0b.");
    expect(run(odd, [{ op: "replace", path: "/a~1b", value: 3 }])).toMatchObject({ "a/b": 3 });
    expect(at("/a/1")).toThrow("/a/1 leads nowhere. /a has 1 elements.");
    expect(at("/b/x/y")).toThrow("/b/x leads nowhere. /b is neither an object nor an array.");
    const within = () => run({ a: {} }, [{ op: "move", from: "/a", path: "/a/b" }]);
    expect(within).toThrow("A value cannot be moved into itself: /a to /a/b.");
    expect(at("a")).toThrow('"a" is not a JSON Pointer; write e.g. /orders/0/total.');
  });
});

describe("the diff of two JSON values", () => {
  const member = fc.constantFrom("a", "b", "c", "d");
  const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3 },
      fc.integer({ min: 0, max: 3 }),
      fc.array(tie("tree"), { maxLength: 5 }),
      fc.dictionary(member, tie("tree"), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));

  it("is a diff of the indented texts that other tools can apply", () => {
    fc.assert(
      fc.property(tree, tree, (before, after) => {
        const [old, made] = [before, after].map((one) => `${JSON.stringify(one, null, 2)}\n`);
        const { diff: text } = diffOfJson(before, after, 10_000);
        expect(applyPatch(old ?? "", `--- a\n+++ b\n${text}`)).toBe(made);
      }),
      { numRuns: 2_000, examples: [[{}, Array.from({ length: 80 }, () => [0])]] },
    );
  });

  it("is short for a long array", () => {
    const before = Array.from({ length: 100_000 }, (_, id) => ({ id }));
    const after = before.with(5_000, { id: -1 });
    expect(diffOfJson(before, after, 60)).toEqual({
      diff: `@@ -15000,7 +15000,7 @@
     "id": 4999
   },
   {
-    "id": 5000
+    "id": -1
   },
   {
     "id": 5001
`,
    });
  });
});
