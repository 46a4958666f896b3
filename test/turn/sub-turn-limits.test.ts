import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as limits from "../../src/limits.ts";
import { hang } from "../support/crashing.ts";
import { allOf, asking, echoing } from "../support/called-agents.ts";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import { storeWith } from "../support/wrapped.ts";

const asked = finish("tool-calls", { input: 60, output: 40 });
const answering = (written: string): Step => [text(written), finish()];
const acting = (n: unknown, id = "call_act"): Step => [toolCall("act", { n }, { id }), asked];

describe("the cost of a question to a model", () => {
  it("is charged to the turn", async () => {
    const { act } = echoing();
    const { ask, call, account } = asking({
      tools: { act },
      steps: [acting("x".repeat(2_000)), [text("$act_1"), finish("stop", { input: 1, output: 2 })]],
    });
    await ask({ prompt: "Go.", tools: allOf(["act"]), call });
    expect(account.spend.turn).toEqual({ modelCalls: 2, toolCalls: 1, tokens: 103 });
    expect(account.counts.usage).toEqual({ inputTokens: 61, outputTokens: 42, totalTokens: 103 });
    const { promptChars, inlinePromptChars, resolvedChars } = account.counts.savings;
    expect(inlinePromptChars).toBeGreaterThan(promptChars);
    expect(resolvedChars).toBe(2_000);
  });

  it("ends at the maximum number of steps of a turn", async () => {
    const { act } = echoing();
    const steps = Array.from({ length: limits.maxSteps + 1 }, (_, n) => acting(n, `call_${n}`));
    const { ask, call, calls } = asking({ tools: { act }, steps });
    await expect(ask({ prompt: "Go.", tools: allOf(["act"]), call })).rejects.toMatchObject({
      code: "limit_exceeded",
      details: { limit: "maxSteps" },
    });
    expect(calls).toHaveLength(limits.maxSteps);
  });
});

describe("a question that may fail", () => {
  const down: Step = () => {
    throw Object.assign(new Error("The key sk-1 is wrong."), { statusCode: 401 });
  };

  it("reports the model's error without its key, and releases all variables", async () => {
    const { act } = echoing();
    const store = await storeWith({ rows: [1] });
    const redact = (said: string) => said.replaceAll("sk-1", "[secret]");
    const steps = [acting("$rows"), down];
    const { ask, call } = asking({ tools: { act }, steps, store, more: { redact } });
    await expect(ask({ prompt: "Go.", tools: allOf(["act"]), call })).rejects.toMatchObject({
      code: "model_failed",
      message: expect.stringContaining("[secret]"),
    });
    for (const { name } of store.list()) expect(store.holds.has(name)).toBe(false);
  });

  it.each(["model", "tool"] as const)("can be stopped while the %s is running", async (where) => {
    const stopping = new AbortController();
    const stop = () => {
      stopping.abort(new Error("Stopped."));
      return hang();
    };
    const act = tool({
      inputSchema: z.object({ n: z.unknown() }),
      execute: (): Promise<number> => stop(),
    });
    const { ask, call, calls, chunks, store } = asking({
      tools: { act },
      steps: where === "model" ? [() => stop()] : [acting(1), answering("Too late.")],
      signal: stopping.signal,
    });
    await expect(ask({ prompt: "Go.", tools: allOf(["act"]), call })).rejects.toThrow("Stopped.");
    expect(calls).toHaveLength(1);
    expect(store.count()).toBe(0);
    if (where === "tool") {
      expect(chunks.at(-1)).toMatchObject({
        type: "tool-output-error",
        errorText: expect.stringContaining("outcome_unknown"),
      });
    }
  });

  it("closes the connections of its agent", async () => {
    const { act } = echoing();
    const closed: string[] = [];
    const agent = { name: "researcher", description: "", instructions: "", tools: { act } };
    const equip = async () => ({
      agent,
      close: async () => {
        closed.push("closed");
      },
    });
    for (const last of [answering("$act_1"), down]) {
      const { ask, call } = asking({ steps: [acting(5), last], more: { equip } });
      const answer = await ask({ prompt: "Go.", tools: allOf(["act"]), call }).catch(
        () => "failed",
      );
      expect(answer).toEqual(last === down ? "failed" : expect.objectContaining({ value: 5 }));
    }
    expect(closed).toEqual(["closed", "closed"]);
  });
});
