import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LastMessage } from "../../src/edge/http/read-body.ts";
import { sampled, samples } from "../support/slow.ts";

const MAX_BYTES = 10_000;

/** Adds the text in pieces of these sizes, in turn. */
function held(text: string, sizes: readonly number[] = [7]) {
  const holding = new LastMessage(MAX_BYTES);
  const bytes = new TextEncoder().encode(text);
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    holding.add(bytes.subarray(at, at + size));
    at += size;
  }
  return holding;
}

/** Not a lone backslash: after one, V8 13.6 mistakes other keys that begin with an escape for it. */
const key = fc
  .oneof(fc.constantFrom("messages", "message", "id", "a,b", '"', "\\\\"), fc.string())
  .filter((text) => text !== "\\");
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 1.5e-7, "", '],[{"messages":[', '\\"', "\\", "é\u2028😀"),
    fc.string(),
    fc.array(tie("any"), { maxLength: 4 }),
    fc.dictionary(key, tie("any"), { maxKeys: 4 }),
  ),
})).any;

describe("the last message of a body", () => {
  it("is the only message kept, whatever the body's content and pieces", sampled, () => {
    const bodies = fc.record({
      before: fc.dictionary(key, value, { maxKeys: 3 }),
      messages: fc.array(value, { maxLength: 5 }),
      after: fc.dictionary(key, value, { maxKeys: 3 }),
      sizes: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
      indent: fc.constantFrom(0, 2),
    });
    fc.assert(
      fc.property(bodies, ({ before, messages, after, sizes, indent }) => {
        const { messages: _before, ...first } = before;
        const { messages: _after, ...last } = after;
        const text = JSON.stringify({ ...first, messages, ...last }, null, indent);
        const expected = { ...first, messages: messages.slice(-1), ...last };
        const left: unknown = JSON.parse(held(text, sizes).takeText());
        expect(left).toEqual(JSON.parse(JSON.stringify(expected)));
      }),
      { numRuns: samples(2_000) },
    );
  });

  it.each([
    ['{"messages":{"messages":[1,2]}}', '{"messages":{"messages":[1,2]}}'],
    ['[{"messages":[1,2]}]', '[{"messages":[1,2]}]'],
    ['{"x":"messages","y":[1,2]}', '{"x":"messages","y":[1,2]}'],
    ['{"messages":[1,2],"messages":[3,4]}', '{"messages":[2],"messages":[4]}'],
    ['{"messages":[1,2', '{"messages":[2'],
    ['{"messages":[1,"2', '{"messages":["2'],
    ['{"messages":[1,]}', '{"messages":[]}'],
    ['{"messages" : \n[ 1 , 2 ] }', '{"messages" : \n[ 2 ] }'],
    ["", ""],
    ["]]}}[,", "]]}}[,"],
  ])("of %j leaves %j", (text, left) => {
    expect(held(text).takeText()).toBe(left);
    expect(held(text, [1]).takeText()).toBe(left);
  });

  it.each([
    { messages: ["short", "x".repeat(MAX_BYTES)] },
    { before: "x".repeat(MAX_BYTES), messages: [1, 2, 3] },
    { messages: [1, 2, 3], after: "x".repeat(MAX_BYTES) },
  ])("exceeds the limit if it, or the rest of the body, is too large", (body) => {
    const { size } = held(JSON.stringify(body));
    expect(size).toBeGreaterThan(MAX_BYTES);
    expect(size).toBeLessThan(MAX_BYTES + 100);
  });
});
