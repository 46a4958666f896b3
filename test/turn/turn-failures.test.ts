import { tool, type ToolSet, type UIMessageChunk } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { finish, type Part, type Step, text, toolCall } from "byref/testing";
import { Conversation, promptOf, shownText, type Turn, typesOf } from "../support/turn.ts";

const asked = finish("tool-calls");
const done = [text("Done."), finish()];

function breaking(...said: readonly (readonly Part[])[]): Step {
  return async function* () {
    yield* said;
    throw new Error("The connection broke.");
  };
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

const echo = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n });

/** Asks another question and returns its prompt, which contains the earlier messages. */
async function nextPrompt(chat: Conversation): Promise<string> {
  const next = await chat.say({ question: "And now?", steps: [done] });
  expect(next.result.error).toBeUndefined();
  return JSON.stringify(promptOf(next, 0));
}

afterEach(() => {
  vi.useRealTimers();
});

it("a model that fails after tool calls causes none of them to run, and later prompts say so", async () => {
  let runs = 0;
  const count = tool({ inputSchema: z.object({}), execute: () => ++runs });
  const chat = new Conversation({ tools: { count } });
  const turn = await chat.say({
    steps: [breaking(toolCall("count", {}), toolCall("count", "{", { chunks: 1, id: "b" }))],
  });
  expect(turn.result.error?.code).toBe("model_failed");
  expect([runs, chat.store.count()]).toEqual([0, 0]);
  expect(await nextPrompt(chat)).toContain("turn_stopped: The turn ended before this call");
});

describe("a turn that is stopped", () => {
  /** Stops the turn at the first chunk that the test waits for. */
  function stopping(when: (chunk: UIMessageChunk) => boolean) {
    const controller = new AbortController();
    const onChunk = (chunk: UIMessageChunk) => void (when(chunk) && controller.abort());
    return { signal: controller.signal, onChunk };
  }

  function expectStop(turn: Turn): void {
    expect(typesOf(turn.chunks).slice(-2)).toEqual(["message-metadata", "abort"]);
    expect(typesOf(turn.chunks)).not.toContain("finish");
    expect(typesOf(turn.chunks)).not.toContain("error");
  }

  it("during a text keeps the text so far with expanded references, and emits no more", async () => {
    const chat = new Conversation({});
    await chat.store.save({ name: "city", value: "Rome" });
    const turn = await chat.say({
      steps: [
        [text("In $city and far beyond", { chunks: ["In $cit", "y and", " far"] }), finish()],
      ],
      ...stopping((chunk) => chunk.type === "text-delta" && chunk.delta.includes("and")),
    });
    expectStop(turn);
    expect(shownText(turn.chunks)).toBe("In Rome and");
    expect(chat.history.newest()).toMatchObject({
      role: "assistant",
      parts: [{ type: "step-start" }, { text: "In $city and", state: "done" }],
      display: ["In Rome and"],
    });
    expect(await nextPrompt(chat)).toContain("In $city and");
  });

  it("while the model does not answer does not wait for it", async () => {
    const isStep = (chunk: UIMessageChunk) => chunk.type === "start-step";
    const turn = await new Conversation({}).say({ steps: [never], ...stopping(isStep) });
    expectStop(turn);
  });

  it.each([true, false])(
    "during a tool does not wait for it (it heeds the signal: %s)",
    async (heeds) => {
      const controller = new AbortController();
      let seen: AbortSignal | undefined;
      const tools: ToolSet = {
        echo,
        hang: tool({
          inputSchema: z.object({}),
          execute: (_, { abortSignal }) => {
            seen = abortSignal;
            queueMicrotask(() => controller.abort());
            return new Promise((_, reject) => {
              if (heeds)
                abortSignal?.addEventListener("abort", () => reject(new Error("Stopped.")));
            });
          },
        }),
      };
      const chat = new Conversation({ tools });
      const unknown = expect.stringMatching(/^outcome_unknown: /);
      const turn = await chat.say({
        steps: [[text("Wait."), toolCall("hang", {}), toolCall("echo", { n: 1 }), asked], done],
        signal: controller.signal,
      });
      expectStop(turn);
      expect(seen?.aborted).toBe(true);
      expect(turn.calls).toHaveLength(1);
      expect(chat.store.count()).toBe(0);
      expect(chat.history.newest()?.parts).toMatchObject([
        { type: "step-start" },
        { type: "text", text: "Wait." },
        { type: "tool-hang", state: "output-error", errorText: unknown },
        { type: "tool-echo", state: "output-error", errorText: unknown },
      ]);
      // The calls may have had effects, so the model must not assume that they failed.
      const prompt = await nextPrompt(chat);
      expect(prompt).toContain("Wait.");
      expect(prompt).toContain("outcome_unknown");
    },
  );
});
