import { tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import * as limits from "../../src/limits.ts";
import { expectOutcome, TIMERS } from "../support/fault-turn.ts";
import { hostile, isCode } from "../support/fault-outputs.ts";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation } from "../support/turn.ts";

const asked = finish("tool-calls");
const said: Step = [text("Hello."), finish()];
const echo = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n });

afterEach(() => {
  vi.useRealTimers();
});

describe("a tool that returns or throws", () => {
  it.each(Object.entries(hostile))("%s", async (_, [run, becomes]) => {
    const hangs = becomes === "tool_timeout";
    if (hangs) vi.useFakeTimers({ toFake: [...TIMERS] });
    const begun = Promise.withResolvers<void>();
    const execute = () => {
      begun.resolve();
      return run();
    };
    const act = tool({ inputSchema: z.object({}), execute });
    const chat = new Conversation({ tools: { act, echo } });
    const calls = [toolCall("act", {}), toolCall("echo", { n: 7 }), asked];
    const running = chat.say({ steps: [calls, said] });
    await begun.promise;
    if (hangs) await vi.advanceTimersByTimeAsync(limits.toolMs);
    const turn = await running;
    vi.useRealTimers();
    const isError = isCode(becomes);
    await expectOutcome(chat, turn, {
      ends: "finish",
      keeps: [`act ${isError ? becomes : "output-available"}`, "echo output-available", "Hello."],
      calls: 2,
    });
    expect(await chat.store.read("echo_1")).toBe(7);
    const info = chat.store.info("act_1");
    if (isError) return expect(info).toBeUndefined();
    const value = info?.type === "bytes" ? "bytes" : JSON.stringify(await chat.store.read("act_1"));
    expect(value).toBe(becomes);
  });
});
