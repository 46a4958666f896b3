import type { Prompt } from "./model-server.ts";
import type { Talk } from "./talk.ts";

/** One question that takes two tools and 200 KB of orders, and six that need a small part of them. */
export const QUESTIONS: readonly string[] = [
  "Ship all orders.",
  ...[17, 250, 3, 999, 1_200, 17].map((order) => `Where does order ${order} go?`),
];

/** Asks all questions and returns the answers. */
export async function askAll(talk: Talk): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const question of QUESTIONS) answers.push(await talk.ask(question));
  return answers;
}

/** Number of characters in all prompts, with messages and tools. */
export function charsOf(prompts: readonly Prompt[]): number {
  return prompts.reduce((sum, { messages, tools }) => sum + messages.length + tools.length, 0);
}

/** Number of characters in the messages of all prompts. */
export function messageCharsOf(prompts: readonly Prompt[]): number {
  return prompts.reduce((sum, { messages }) => sum + messages.length, 0);
}
