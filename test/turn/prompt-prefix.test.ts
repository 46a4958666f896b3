import { expect, it } from "vitest";
import { slow } from "../support/slow.ts";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { tool } from "ai";
import * as z from "zod";
import { dataIn } from "../support/compacted.ts";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation } from "../support/turn.ts";

it(
  "each request of 50 mixed turns begins like the previous one, with nine tenths of all characters",
  slow,
  async () => {
    const requests = await mixedRequests(50);
    const chars = requests.reduce((sum, request) => sum + request.length, 0);
    // The requests contain large results, removals and compaction, and the text that these add to a prompt.
    for (const part of ["<history>", "$sheet_7: removed", "$sheet_14", '"try":[', "list_variables"])
      expect(requests.some((request) => request.includes(part))).toBe(true);
    expect(newChars(requests)).toBeLessThanOrEqual(chars / 10);
  },
);

const inputSchema = z.object({ at: z.number() });
const look = tool({ inputSchema, execute: ({ at }) => ({ total: at * 1_001 }) });
const list = tool({
  inputSchema,
  execute: ({ at }) => Array.from({ length: 300 }, (_, row) => ({ id: `${at}_${row}`, row })),
});

/** Serializes a request as providers do when they cache its prefix: tools, instructions, messages. */
function serialized({ prompt, tools = [] }: LanguageModelV4CallOptions): string {
  return [JSON.stringify(tools), ...prompt.map((message) => JSON.stringify(message))].join("\n");
}

function stepsOf(turn: number): readonly Step[] {
  const asked = finish("tool-calls");
  const call = (name: string, input: object) => toolCall(name, input, { id: `c${turn}` });
  const answer = [text(`Answer ${turn}. ${"So it is. ".repeat(30)}`), finish("stop")];
  const calls: Readonly<Record<number, Step>> = {
    0: [call("look", { at: turn }), asked],
    1: [call("list", { at: turn }), asked],
    2: [call("set_variable", { name: "notes", value: "n".repeat(turn) }), asked],
    3: [call("look", { at: turn }), asked],
  };
  const first = calls[turn % 5];
  return first === undefined ? [answer] : [first, answer];
}

/**
 * Returns the requests of a conversation with small and large results, variables that other clients create,
 * change and remove, and compacted turns.
 */
async function mixedRequests(turns: number): Promise<readonly string[]> {
  const { store, history } = dataIn();
  const agent = {
    name: "mixed",
    description: "",
    instructions: "Help with the data.",
    tools: { look, list },
  };
  const conversation = new Conversation({ agent, store, history });
  const requests: string[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    if (turn % 7 === 0) await store.save({ name: `sheet_${turn}`, value: [{ turn }] });
    if (turn % 14 === 0) await store.save({ name: `sheet_${turn - 7}`, value: [{ turn }, 2] });
    if (turn === 30) store.delete("sheet_7");
    const question = `Question ${turn}: what of it? ${"And why? ".repeat(turn % 10)}`;
    const { calls } = await conversation.say({ question, steps: stepsOf(turn) });
    requests.push(...calls.map(serialized));
  }
  return requests;
}

/** Counts the characters of each request that are not in a common prefix with the previous request. */
function newChars(requests: readonly string[]): number {
  return requests.reduce((sum, request, index) => {
    const before = requests[index - 1] ?? "";
    let same = 0;
    while (same < request.length && request[same] === before[same]) same++;
    return sum + request.length - same;
  }, 0);
}
