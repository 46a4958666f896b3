import { describe, expect, it } from "vitest";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import { interpolate, resolveReferences } from "../../src/reference/resolve.ts";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import { expanded } from "../support/streamed.ts";
import { Conversation, shownText } from "../support/turn.ts";
import { tool } from "ai";
import * as z from "zod";

const SECRET = "EXPANDED";
const syntaxes = ["dollar", "mustache", "dagger"] as const;

/** References that would begin in the answer and end in the value, or the other way round. */
const seams: readonly (readonly [answer: string, value: string])[] = [
  ["$${v}", "x"],
  ["{{v}}x}}", "{{"],
  ["${v}x", "$"],
  ["{${v}", "{x}}"],
  ["${v}{x}", "$"],
  ["†${v}", "x"],
  ["${v}x", "†"],
  ["$v$v", "$x"],
  ["${v}${w}", "$"],
];

function lookupWith(value: unknown) {
  const nested = { deep: [value] };
  return lookupIn(
    JSON.parse(JSON.stringify({ v: value, w: "x", nested, x: SECRET, y: SECRET })) as never,
  );
}

function answerOf(answer: string, value: unknown, chunkChars: number): string {
  const chunks = Array.from({ length: Math.ceil(answer.length / chunkChars) }, (_, index) =>
    answer.slice(index * chunkChars, (index + 1) * chunkChars),
  );
  return expanded(lookupWith(value), chunks, { syntaxes, inCode: true, inUrls: true }).text;
}

describe("a value is never scanned for references", () => {
  it.each(seams)("in the answer %s, with %j", (answer, value) => {
    for (const chars of [1, 2, 3, 1_000]) {
      expect(answerOf(answer, value, chars)).not.toContain(SECRET);
    }
  });

  it.each(["$x", "a ${x} b", "{{x}}", "†x", "†x || †y", "$$x", "\\$x", "variable:x", "$v"])(
    "in a tool's input and in a template: %j",
    async (value) => {
      const lookup = lookupWith(value);
      const input = { whole: "$v", inside: "<$v>", list: ["$nested", "{{v}}", "†v"] };
      const resolved = await resolveReferences(input, lookup, { syntaxes });
      expect(JSON.stringify(resolved.value)).not.toContain(SECRET);
      const template = "{{v}} $v †v {{nested.deep[0]}}";
      const { text } = await interpolate(template, lookup, { syntaxes });
      expect(text).not.toContain(SECRET);
    },
  );

  it("in a turn, as a result or an input", async () => {
    const value = "$x ${x} {{x}} †x";
    const received: unknown[] = [];
    const any = z.object({}).loose();
    const chat = new Conversation({
      tools: {
        read: tool({ inputSchema: any, execute: () => ({ value, [value]: [value] }) }),
        take: tool({
          inputSchema: any,
          execute: (input) => {
            received.push(input);
            return input;
          },
        }),
      },
    });
    await chat.store.save({ name: "x", value: SECRET, visibility: "sealed" });
    await chat.store.save({ name: "v", value });
    const asked = finish("tool-calls");
    const turn = await chat.say({
      steps: [
        [toolCall("read", {}), asked],
        [toolCall("take", { all: "$read_1", part: "$v", text: "<$v>" }), asked],
        [text("$v and $read_1.value and $take_1.text"), finish()],
      ],
    });
    expect(turn.result.error).toBeUndefined();
    expect(received).toHaveLength(1);
    const prompts = JSON.stringify(turn.calls.map(({ prompt }) => prompt));
    const all = [JSON.stringify([received, turn.chunks]), shownText(turn.chunks), prompts];
    expect(all.join()).not.toContain(SECRET);
  });
});
