import type { UIMessageChunk } from "ai";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ChatBody } from "../support/chat-completions.ts";
import { type ScriptedServer, startScriptedServer } from "../support/scripted-server.ts";
import { chunksIn, messagesOf, post, textIn, textOf } from "../support/turn-client.ts";

const AT_ONCE = 200;
const READ_AT_ONCE = 20;

let scripted: ScriptedServer;

beforeAll(async () => {
  scripted = await startScriptedServer(echo);
});

afterAll(() => scripted?.stop());

function echo({ messages }: ChatBody) {
  const asked = messages.findLast(({ role }) => role === "user")?.content ?? "";
  return { kind: "text", text: answerTo(asked) } as const;
}

function answerTo(question: string): string {
  return `You said: ${question} Not a word more.`;
}

/** Returns all chunks of the answer. */
async function ask(conversation: string, text: string): Promise<readonly UIMessageChunk[]> {
  const message = { id: `question of ${conversation}`, parts: [{ type: "text", text }] };
  const response = await post(conversation, { role: "user", ...message });
  return chunksIn(await response.text());
}

/** Returns the text without the output of steps that were reset. */
function textShown(chunks: readonly UIMessageChunk[]): string {
  return textIn(chunks.slice(chunks.findLastIndex(({ type }) => type === "reset-step") + 1));
}

// `npm run bench -- many` measures the speed.
it("answers 200 new conversations at once, each its own question, and loses none", async () => {
  const all = Array.from({ length: AT_ONCE }, (_, index) => ({
    conversation: `${scripted.server.url}/conversations/many-${index}`,
    question: `I am number ${index}, and no other.`,
  }));
  const answers = await Promise.all(
    all.map(({ conversation, question }) => ask(conversation, question)),
  );
  expect(answers.map((chunks) => ({ text: textShown(chunks), last: chunks.at(-1)?.type }))).toEqual(
    all.map(({ question }) => ({ text: answerTo(question), last: "finish" })),
  );

  for (let from = 0; from < all.length; from += READ_AT_ONCE) {
    const some = all.slice(from, from + READ_AT_ONCE);
    const histories = await Promise.all(some.map(({ conversation }) => messagesOf(conversation)));
    expect(histories.map((messages) => messages.map(textOf))).toEqual(
      some.map(({ question }) => [question, answerTo(question)]),
    );
  }
});
