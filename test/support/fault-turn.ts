import { expect, vi } from "vitest";
import { keptIn } from "./fault-steps.ts";
import { finish, text } from "../../packages/testing/src/testing.ts";
import { type Conversation, promptOf, readMessage, shownText, type Turn } from "./turn.ts";

/** What deadlines use; digests and streams do not use the fake clock. */
export const TIMERS = [
  "setTimeout",
  "clearTimeout",
  "setInterval",
  "clearInterval",
  "Date",
] as const;

/** Fakes timers. Returns how many of ours wait: tests of other files in the same process may leave some. */
export function fakeTimers(): () => number {
  vi.useFakeTimers({ toFake: [...TIMERS] });
  const own = new Set<unknown>();
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const ours = (work: () => void, ms?: number) => {
    const timer = set(() => (own.delete(timer), work()), ms);
    if (/\/src\//u.test(new Error().stack?.replaceAll(/node_modules.*/gu, "") ?? ""))
      own.add(timer);
    return timer;
  };
  const cleared = (timer?: ReturnType<typeof set>) => (own.delete(timer), clear(timer));
  Object.assign(globalThis, { setTimeout: ours, clearTimeout: cleared });
  return () => own.size;
}

/** The expected outcome of a fault. The next message is always answered. */
export interface Outcome {
  /** Type of the last chunk, or the code if it is an error. */
  readonly ends: string;
  /** Parts of the answer in the history. */
  readonly keeps: readonly string[];
  /** How often the model was called. */
  readonly calls: number;
}

function endOf({ chunks }: Turn): string {
  const last = chunks.at(-1);
  return last?.type === "error" ? (last.errorText.split(": ")[0] ?? "") : String(last?.type);
}

/** Checks the first turn of a conversation. */
export async function expectOutcome(
  chat: Conversation,
  turn: Turn,
  outcome: Outcome,
): Promise<void> {
  // A message of several megabytes fills a page.
  const { messages: last, next: before = "" } = chat.history.page({ limit: 10 });
  const messages = [...chat.history.page({ limit: 10, before }).messages, ...last];
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect({ ends: endOf(turn), keeps: keptIn(messages[1]), calls: turn.calls.length }).toEqual(
    outcome,
  );
  const code = outcome.ends === "finish" ? undefined : outcome.ends;
  expect(turn.result.error?.code).toBe(code);
  expect(messages[1]?.metadata).toMatchObject(code === undefined ? {} : { error: code });
  // A stock client ends with the same message as the history.
  const { message, errors } = await readMessage(turn.chunks.filter(({ type }) => type !== "error"));
  expect(errors).toEqual([]);
  expect(keptIn(message)).toEqual(outcome.keeps);
  expect(chat.journal.head()).toMatchObject({ isOpen: false });
  const after = await chat.say({ question: "And now?", steps: [[text("Hello."), finish()]] });
  expect([endOf(after), shownText(after.chunks)]).toEqual(["finish", "Hello."]);
  expect(JSON.stringify(promptOf(after, 0))).toContain("And now?");
}
