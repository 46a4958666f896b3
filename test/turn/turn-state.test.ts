import type { UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { StoredMessage } from "../../src/turn/history/stored-message.ts";
import type { TurnCounts } from "../../src/turn/log/journal.ts";
import { TurnState, type TurnStateOptions } from "../../src/turn/log/turn-state.ts";
import { Account, NOTHING_SPENT, Spend } from "../../src/turn/spend/spend.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

function newState(about: Partial<TurnStateOptions> = {}) {
  const store = new MemoryStore();
  const account = new Account(store, new Spend({}, NOTHING_SPENT));
  const agent = { name: "a", description: "", instructions: "", tools: {} };
  const options = { id: "t", key: "t", isTainted: false, ...about };
  return { store, account, state: new TurnState({ agent, store, account }, options) };
}

const counts: TurnCounts = {
  usage: { inputTokens: 3 },
  savings: { promptChars: 1, inlinePromptChars: 2, authoredChars: 3, resolvedChars: 4 },
  spent: { modelCalls: 1, toolCalls: 2, tokens: 3 },
  tainted: true,
  waiting: { ok: "pin" },
};

/** A call that waits for a person. */
const asked: readonly UIMessageChunk[] = [
  { type: "tool-input-available", toolCallId: "1", toolName: "act", input: {} },
  { type: "tool-approval-request", toolCallId: "1", approvalId: "ok" },
];

const resumed: StoredMessage = {
  id: "t",
  role: "assistant",
  parts: [{ type: "text", text: "Is $a right?" }],
  display: ["Is 1 right?"],
  waiting: { ok: "pin" },
  createdAt: new Date(NOW_MS).toISOString(),
};

describe("the state of a turn", () => {
  it("is empty if it is new", () => {
    const { state } = newState();
    expect(state.counts).toMatchObject({ spent: NOTHING_SPENT, tainted: false, waiting: {} });
    expect([state.id, state.parts.parts, state.hasWaiting]).toEqual(["t", [], false]);
    expect(newState({ isTainted: true }).state.counts.tainted).toBe(true);
  });

  it("continues with the counts, texts and calls of a turn that has waited", () => {
    const { state } = newState({ resumed, counts });
    expect(state.counts).toEqual(counts);
    expect(state.parts.display).toEqual(["Is 1 right?"]);
    expect(newState({ resumed }).state.waiting).toEqual({ ok: "pin" });
    expect(resumed.waiting).not.toBe(state.waiting);
  });

  it("is waiting if a call is", () => {
    const { state } = newState();
    for (const chunk of asked) state.parts.add(chunk);
    expect(state.hasWaiting).toBe(true);
    state.parts.add({ type: "tool-approval-response", approvalId: "ok", approved: true });
    expect(state.hasWaiting).toBe(false);
  });

  it("returns copies of its counts", () => {
    const { state } = newState();
    const before = state.counts;
    state.waiting["ok"] = "pin";
    expect([before.waiting, state.counts.waiting]).toEqual([{}, { ok: "pin" }]);
  });
});

describe("a state that is restored", () => {
  it("contains all entries, and the counts of the last one", () => {
    const { state } = newState();
    const text = { type: "text" as const, text: "$a", state: "done" as const };
    const parts = [{ type: "step-start" as const }, text];
    state.restore([
      { step: { parts, display: ["1"] }, state: { ...counts, waiting: { gone: "p" } } },
      { chunks: asked, state: { ...counts, tainted: false } },
    ]);
    expect(state.parts.parts.slice(0, 2)).toEqual(parts);
    expect(state.parts.display).toEqual(["1"]);
    expect(state.hasWaiting).toBe(true);
    // Taint stays. Approvals that no longer wait are dropped.
    expect(state.counts).toEqual(counts);
  });

  it("is not tainted if the model saw nothing untrusted", () => {
    const { state } = newState();
    state.restore([{ state: { ...counts, tainted: false } }]);
    expect(state.counts.tainted).toBe(false);
  });

  it("holds only the variables of its results", async () => {
    const { store, state } = newState();
    for (const name of ["a", "b"]) await store.save({ name, value: 1 });
    const result = (toolCallId: string, output: unknown): readonly UIMessageChunk[] => [
      { type: "tool-input-available", toolCallId, toolName: "act", input: {} },
      { type: "tool-output-available", toolCallId, output },
    ];
    const chunks = [...result("1", { $var: "a" }), ...result("2", "b")];
    state.restore([{ chunks, state: counts }]);
    expect(["a", "b"].map((name) => store.holds.has(name))).toEqual([true, false]);
    store.holds.release("t");
    expect(store.holds.has("a")).toBe(false);
  });
});

describe("the message of a turn", () => {
  const part = (text: string) => ({ type: "text" as const, text });

  it("contains the parts and the time, and no needless fields", () => {
    const { state } = newState();
    expect(state.message([part("a")], NOW_MS)).toEqual({
      id: "t",
      role: "assistant",
      parts: [part("a")],
      display: [],
      createdAt: "2026-01-01T00:00:00.000Z",
    });
  });

  it("contains the displayed texts if they differ", () => {
    const { state } = newState();
    const chunks: readonly UIMessageChunk[] = [
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "$a" },
      { type: "text-start", id: "2" },
      { type: "text-delta", id: "2", delta: "b" },
    ];
    for (const chunk of chunks) state.parts.add(chunk);
    state.parts.show("1", "1");
    state.parts.show("2", "b");
    const { parts } = state.parts;
    expect(state.message([{ type: "step-start" }, ...parts], NOW_MS).display).toEqual(["1", "b"]);
    expect(state.message([part("1"), part("b")], NOW_MS)).not.toHaveProperty("display");
  });

  it("contains its taint, and its agent if a call waits", () => {
    const tainted = newState({ isTainted: true }).state.message([], NOW_MS);
    expect(tainted).toMatchObject({ tainted: true });
    const { state } = newState({ resumed });
    const message = state.message([], NOW_MS);
    expect(message).toMatchObject({ waiting: { ok: "pin" }, agent: "a" });
    expect(message.waiting).not.toBe(state.waiting);
    expect(message).not.toHaveProperty("tainted");
    expect(newState().state.message([], NOW_MS)).not.toHaveProperty("waiting");
    expect(newState().state.message([], NOW_MS)).not.toHaveProperty("agent");
  });
});
