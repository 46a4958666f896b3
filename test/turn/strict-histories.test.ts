import { dynamicTool, jsonSchema, tool } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { finish, reasoning, type Step, text, toolCall } from "byref/testing";
import { answers, calls, failures } from "../support/conformance-cases.ts";
import { slow } from "../support/slow.ts";
import { startStrictProviders } from "../support/strict-providers.ts";
import { SIGNATURE } from "../support/strict-rules.ts";
import { Conversation } from "../support/turn.ts";

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
