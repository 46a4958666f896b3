import type { InputRequest } from "@modelcontextprotocol/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as limits from "../src/gateway-limits.ts";
import {
  type CallAnswer,
  type GatewayCall,
  type Round,
  RunningCall,
  WaitingCalls,
} from "../src/running-call.ts";

const PERSON: InputRequest = {
  method: "elicitation/create",
  params: { message: "Your name?", requestedSchema: { type: "object", properties: {} } },
};
const ROOTS: InputRequest = { method: "roots/list" };
const DONE: CallAnswer = { kind: "result", result: { content: [] } };

type Work = (call: GatewayCall) => Promise<CallAnswer>;

/** Starts a call that does this work in the gateway's place. */
function started(work: Work): RunningCall {
  return new RunningCall(work, { name: "one", input: {} });
}

function round(more: Partial<Round> = {}): Round {
  return { signal: new AbortController().signal, answers: () => true, ...more };
}

/** A call whose work asks and keeps what it gets. */
function asking(...questions: readonly InputRequest[]) {
  const answers: unknown[] = [];
  const call = started(async ({ onQuestion }) => {
    const all = questions.map((question) => onQuestion?.(question));
    answers.push(...(await Promise.allSettled(all)));
    return DONE;
  });
  return { call, answers };
}

const fulfilled = (value: unknown) => ({ status: "fulfilled", value });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("a call that outlives a request of its client", () => {
  it("passes several questions on one after the other, and each answer to its question", async () => {
    const { call, answers } = asking(PERSON, ROOTS);
    expect(await call.next(round())).toEqual({ kind: "question", request: PERSON });
    call.reply(() => ({ action: "accept", content: { name: "a" } }));
    expect(await call.next(round())).toEqual({ kind: "question", request: ROOTS });
    call.reply(() => ({ roots: [] }));
    expect(await call.next(round())).toBe(DONE);
    expect(answers).toEqual([
      fulfilled({ action: "accept", content: { name: "a" } }),
      fulfilled({ roots: [] }),
    ]);
  });

  it("answers without the client what the client cannot answer", async () => {
    const { call, answers } = asking(PERSON, ROOTS);
    expect(await call.next(round({ answers: () => false }))).toBe(DONE);
    const reason = new Error("The client did not answer roots/list.");
    expect(answers).toEqual([fulfilled({ action: "cancel" }), { status: "rejected", reason }]);
  });
});

describe("calls that wait for an answer", () => {
  it("are cancelled when the time to answer is over, and not before", async () => {
    const waiting = new WaitingCalls();
    const { call, answers } = asking(PERSON);
    await call.next(round());
    waiting.add(call);
    await vi.advanceTimersByTimeAsync(limits.gatewayQuestionMs - 1);
    expect(answers).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(answers).toEqual([fulfilled({ action: "cancel" })]);
    expect(waiting.take(call.id)).toBeUndefined();
  });
});
