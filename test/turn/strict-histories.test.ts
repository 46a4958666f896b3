import "../support/property-seed.ts";
import { dynamicTool, jsonSchema, tool } from "ai";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { finish, type Part, reasoning, type Step, text, toolCall } from "byref/testing";
import { answers, calls, failures } from "../support/conformance-cases.ts";
import { slow } from "../support/slow.ts";
import { startStrictProviders } from "../support/strict-providers.ts";
import { SIGNATURE } from "../support/strict-rules.ts";
import { Conversation } from "../support/turn.ts";
import { waitingCalls } from "../../src/turn/waiting-calls.ts";

let strict: Awaited<ReturnType<typeof startStrictProviders>>;

beforeAll(async () => {
  strict = await startStrictProviders();
});

afterAll(() => strict.stop());

const tools = {
  look: tool({ inputSchema: z.object({ at: z.number() }), execute: ({ at }) => `Seen ${at}.` }),
  fail: tool({
    inputSchema: z.object({}),
    execute: (): string => {
      throw new Error("The disk is full.");
    },
  }),
  send: tool({ inputSchema: z.object({}), needsApproval: true, execute: () => "Sent." }),
  silent: tool({
    description: "Says nothing. ".repeat(200),
    inputSchema: z.union([z.object({}), z.object({ loud: z.boolean() })]),
    execute: () => "",
  }),
  // As generators make them from OpenAPI, with what each provider refuses.
  list: dynamicTool({
    inputSchema: jsonSchema({
      $schema: "http://json-schema.org/draft-07/schema#",
      properties: {
        $filter: { type: "string", pattern: "^(?!null$)" },
        "user[ids]": { type: "array" },
        range: { type: "array", items: [{ type: "number" }, { $ref: "#/components/Number" }] },
      },
      required: ["$filter", "token"],
    }),
    execute: () => "Listed.",
  }),
};

/** Asks each provider a question after the conversation's history. */
async function askAll(chat: Conversation): Promise<readonly string[]> {
  const errors: string[] = [];
  for (const { name, model, takeErrors } of strict.providers) {
    const { result } = await chat.say({ model, steps: [], question: `And now, ${name}?` });
    errors.push(...takeErrors());
    if (result.error !== undefined) errors.push(`${name}: ${result.error.message}`);
  }
  return errors;
}

const thinking = reasoning("Let me see.", { metadata: { anthropic: { signature: SIGNATURE } } });
const cut = new Error("terminated");
type Turn = (chat: Conversation) => Promise<unknown>;

function stoppedAt(type: string, step: Step): Turn {
  return (chat) => {
    const controller = new AbortController();
    return chat.say({
      steps: [step],
      signal: controller.signal,
      onChunk: (chunk) => void (chunk.type === type && controller.abort(new Error("Stop."))),
    });
  };
}

const say =
  (...steps: readonly Step[]): Turn =>
  (chat) =>
    chat.say({ steps });

/** The ways to an answer that ends with thinking. */
const endings: readonly (readonly [name: string, turn: Turn])[] = [
  ["max_tokens in thinking", say([thinking, finish("length")])],
  ["max_tokens after a whole call", say([thinking, toolCall("look", { at: 1 }), finish("length")])],
  ["a stop before the text", stoppedAt("reasoning-end", [thinking, text("So."), finish()])],
  [
    "a stop in a tool's input",
    stoppedAt("tool-input-delta", [thinking, toolCall("look", { at: 1 }, { chunks: 2 }), finish()]),
  ],
  ["an error of the model", say([thinking, cut], [thinking, cut], [thinking, cut])],
  ["an approval that is never given", say([thinking, toolCall("send", {}), finish("tool-calls")])],
];

describe("after a turn with", () => {
  it.each(endings)("%s, each provider takes the next question", async (_, turn) => {
    const chat = new Conversation({ tools });
    await turn(chat);
    expect(await askAll(chat)).toEqual([]);
  });

  it("each ending of a stock model, each provider takes the next question", slow, async () => {
    for (const [, steps] of [...answers, ...calls, ...failures]) {
      const chat = new Conversation({ tools });
      await chat.say({ steps });
      expect(await askAll(chat)).toEqual([]);
    }
  });
});

const ids = fc.constantFrom("call_1", "functions.look:0", "toolu_01A09q90qw90lq917835lq9", "", "é");
const names = fc.constantFrom(
  "look",
  "fail",
  "send",
  "silent",
  "$READFILE",
  "multi_tool_use.parallel",
  "no",
);
const inputs = fc.constantFrom({ at: 1 }, {}, [], null, 5, '{"at":', "x\ud83d");
const parts: fc.Arbitrary<readonly Part[]> = fc.oneof(
  fc.constantFrom(text("So."), text("\n\n"), text(""), text("\ud83d"), thinking, reasoning("Hm.")),
  fc
    .tuple(names, inputs, ids, fc.boolean())
    .map(([name, input, id, isStreamed]) =>
      toolCall(name, input, { id, ...(isStreamed && { chunks: 3 }) }),
    ),
);
const ends = fc.constantFrom<Step[]>(
  finish(),
  finish("tool-calls"),
  finish("length"),
  finish("content-filter"),
);
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc
    .tuple(fc.array(parts, { maxLength: 4 }), fc.option(ends, { freq: 5 }))
    .map(([said, end]): Step => [...said, ...(end === null ? [cut] : [end])] as Step),
  { minLength: 1, maxLength: 4 },
);
const turns: fc.Arbitrary<Turn> = fc.oneof(
  steps.map((all) => say(...all)),
  fc
    .tuple(fc.constantFrom("text-delta", "reasoning-end", "tool-input-available"), steps)
    .map(([type, [first]]) => stoppedAt(type, first ?? [finish()])),
  fc.tuple(fc.boolean(), steps).map(([isApproved, all]): Turn => async (chat) => {
    if (waitingCalls(chat.history.newest()).size === 0) return;
    await (isApproved ? chat.approve({ steps: all }) : chat.deny({ steps: all }));
  }),
);

it("each provider takes any history of answers, failures, stops and approvals", slow, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(turns, { minLength: 1, maxLength: 5 }), async (all) => {
      const chat = new Conversation({ tools });
      for (const turn of all) await turn(chat);
      expect(await askAll(chat)).toEqual([]);
    }),
    { numRuns: 60 },
  );
});
