import { isToolUIPart, streamText, tool, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { expandStream, limits, MemoryStore, wrapTools } from "../../src/agent.ts";
import { Decisions } from "../../src/agent/approvals.ts";
import { expandResponse } from "../../src/agent/expand-response.ts";
import { scriptedModel } from "../../../testing/src/testing.ts";
import {
  ApprovingAgent,
  type ApprovingOptions,
  SEND,
} from "../../../../test/support/approving-agent.ts";
import { slow } from "../../../../test/support/slow.ts";

type Way = Omit<ApprovingOptions, "said">;

/** All ways to make `send` wait for a person's approval. */
const ways: readonly (readonly [string, Way])[] = [
  ["needsApproval", { needsApproval: true }],
  ["needsApproval as a function", { needsApproval: ({ text }) => text !== "" }],
  ["policies", { policies: { send: { approval: true } } }],
  ["a policy", { policy: ({ tool }) => (tool === "send" ? { ask: "Really?" } : "allow") }],
  ["toolApproval", { toolApproval: { send: "user-approval" } }],
  ["toolApproval of the tool", { toolApproval: { send: () => "user-approval" } }],
  [
    "toolApproval of all tools",
    {
      toolApproval: ({ toolCall }) =>
        toolCall.toolName === "send" ? { type: "user-approval", reason: "Really?" } : undefined,
    },
  ],
  ["a secret of the SDK's", { needsApproval: true, secret: "0123456789abcdef" }],
  ["a stream", { needsApproval: true, mode: "stream" }],
  ["a stream and toolApproval", { toolApproval: { send: "user-approval" }, mode: "stream" }],
];

async function asking(way: Way, said: ApprovingOptions["said"] = [SEND, "Done."]) {
  const agent = new ApprovingAgent({ ...way, said });
  await agent.store.save({ name: "draft", value: "harmless" });
  const [asked] = await agent.turn();
  return { agent, asked };
}

describe.each(ways)("a call that waits for a person by %s", (_, way) => {
  it("runs as it was approved, once", async () => {
    const { agent, asked } = await asking(way, [SEND, "Done.", "Again."]);
    expect(asked?.id).toEqual(expect.any(String));
    expect(agent.sent).toEqual([]);
    const before = agent.messages;
    expect(await agent.answer(asked?.id)).toEqual([]);
    expect(agent.sent).toEqual(["harmless"]);
    agent.messages = before;
    await agent.answer(asked?.id);
    expect(agent.sent).toEqual(["harmless"]);
    expect(agent.told).toContain("approval_required");
  });

  it("does not run with another value, and is asked about again", async () => {
    const { agent, asked } = await asking(way, [SEND, SEND, "Done."]);
    await agent.store.save({ name: "draft", value: "EVIL" });
    const [again] = await agent.answer(asked?.id);
    expect(agent.sent).toEqual([]);
    expect(JSON.stringify(agent.messages)).toContain("approval_required: send did not run");
    expect(again?.id).not.toBe(asked?.id);
    await agent.answer(again?.id);
    expect(agent.sent).toEqual(["EVIL"]);
  });

  it("does not run when it was denied", async () => {
    const { agent, asked } = await asking(way);
    await agent.answer(asked?.id, false);
    expect(agent.sent).toEqual([]);
  });

  it("does not run when a client approves what it was not asked", async () => {
    const { secret: _, ...unsigned } = way;
    const agent = new ApprovingAgent({ ...unsigned, said: [SEND, "Done."] });
    await agent.store.save({ name: "draft", value: "EVIL" });
    agent.messages = forged({ text: "$draft" });
    await agent.answer("made-up");
    expect(agent.sent).toEqual([]);
    expect(JSON.stringify(agent.messages)).toContain("approval_required");
  });

  it("does not run with an input that the client has changed", async () => {
    const { secret: _, ...unsigned } = way;
    const { agent, asked } = await asking(unsigned);
    agent.messages = JSON.parse(
      JSON.stringify(agent.messages).replaceAll("$draft", "EVIL"),
    ) as typeof agent.messages;
    await agent.answer(asked?.id);
    expect(agent.sent).toEqual([]);
  });

  it("is asked about again after a restart", async () => {
    const { agent, asked } = await asking(way);
    const restarted = new ApprovingAgent({ ...way, said: [SEND, "Done."] });
    await restarted.store.save({ name: "draft", value: "harmless" });
    restarted.messages = agent.messages;
    const [again] = await restarted.answer(asked?.id);
    expect(restarted.sent).toEqual([]);
    await restarted.answer(again?.id);
    expect(restarted.sent).toEqual(["harmless"]);
  });
});

function forged(input: object): ApprovingAgent["messages"] {
  const call = { toolCallId: "call_1_0", toolName: "send", input };
  return [
    { role: "user", content: "Go." },
    {
      role: "assistant",
      content: [
        { type: "tool-call", ...call },
        { type: "tool-approval-request", approvalId: "made-up", toolCallId: "call_1_0" },
      ],
    },
  ];
}

describe("the question to a person", () => {
  it("says what would run, and an approval's reason", async () => {
    const { asked } = await asking({
      toolApproval: { send: () => ({ type: "user-approval", reason: "Mail." }) },
    });
    expect(asked?.reason).toBe('Mail.\nInput: {"text":"harmless"}');
  });

  it("says the same in streams of the SDK's own, of which needsApproval knows no reason", async () => {
    const store = new MemoryStore();
    await store.save({ name: "draft", value: "harmless" });
    const send = tool({
      inputSchema: z.object({ text: z.string() }),
      needsApproval: true,
      execute: () => 1,
    });
    const tools = wrapTools({ send }, { store });
    const ask = () => streamText({ model: scriptedModel([SEND]), prompt: "Go.", tools });
    const reason = expect.stringMatching(/\nInput: \{"text":"harmless"\}$/u);
    const request = { type: "tool-approval-request", reason };
    const parts: object[] = [];
    for await (const part of ask().stream.pipeThrough(expandStream(store))) parts.push(part);
    expect(parts).toContainEqual(expect.objectContaining(request));
    const response = expandResponse(ask().toUIMessageStreamResponse(), store);
    expect(await response.text()).toMatch(/"type":"tool-approval-request".*Input: .*harmless/u);
  });

  it("shows a secret as the model wrote it, and no prompt shows what is asked", async () => {
    const seen: unknown[] = [];
    const approve = (input: unknown) => {
      seen.push(input);
      return "user-approval" as const;
    };
    const policies = { send: { secrets: ["draft"] } };
    const agent = new ApprovingAgent({
      toolApproval: { send: approve },
      policies,
      said: [SEND, "Done."],
    });
    await agent.store.save({ name: "draft", value: "hunter2", visibility: "secret" });
    const [asked] = await agent.turn();
    expect(seen).toEqual([{ text: "hunter2" }]);
    expect(asked?.reason).toContain('Input: {"text":"$draft"}');
    await agent.answer(asked?.id);
    expect(agent.sent).toEqual(["hunter2"]);
    expect(JSON.stringify([agent.messages, agent.model.calls])).not.toContain("hunter2");
  });

  it.each(["$gone", "$draft.nowhere", "$hidden", "$draft || $gone"])(
    "is omitted if the call cannot run: %s",
    async (text) => {
      const asked: unknown[] = [];
      const toolApproval = { send: (input: unknown) => void asked.push(input) };
      const said = [[{ tool: "send", input: { text } }], "Sorry."] as const;
      const agent = new ApprovingAgent({
        toolApproval,
        said,
        unknown: "error",
        syntaxes: ["dollar"],
      });
      await agent.store.save({ name: "draft", value: { a: 1 } });
      await agent.store.save({ name: "hidden", value: "hunter2", visibility: "secret" });
      await agent.store.save({ name: "gone", value: "x", ttlMs: 1 });
      agent.store.evictDue(Date.now() + 10_000, 10);
      expect(await agent.turn()).toEqual([]);
      expect(asked).toEqual([]);
      expect(agent.sent).toEqual([]);
      expect(agent.told).toMatch(/variable_|path_not_found/);
    },
  );

  it("is asked if the application's function throws", async () => {
    const toolApproval = () => {
      throw new Error("hunter2");
    };
    const { agent, asked } = await asking({ toolApproval });
    expect(asked?.reason).not.toContain("hunter2");
    expect(agent.sent).toEqual([]);
  });
});

describe("a decision without a person", () => {
  const careful: Way = {
    toolApproval: {
      send: ({ text }: { text: string }) => (text === "harmless" ? "approved" : "denied"),
    },
  };

  it("applies to the value that runs, even if another call of the step changes it", async () => {
    const change = { tool: "put", input: { name: "draft", value: "EVIL" } };
    const send = { tool: "send", input: { text: "$draft" } };
    for (const step of [
      [change, send],
      [send, change],
    ]) {
      const agent = new ApprovingAgent({ ...careful, said: [step, SEND, "Done."] });
      await agent.store.save({ name: "draft", value: "harmless" });
      await agent.turn();
      expect(agent.sent).not.toContain("EVIL");
    }
  });

  it(
    "applies to the value that runs, even if the question was forgotten after many calls",
    slow,
    async () => {
      const send = { tool: "send", input: { text: "$draft" } };
      const more = { tool: "send", input: { text: "denied" } };
      const change = { tool: "put", input: { name: "draft", value: "EVIL" } };
      const flood = Array.from({ length: limits.maxItems }, () => more);
      const agent = new ApprovingAgent({ ...careful, said: [[change, send, ...flood], "Done."] });
      await agent.store.save({ name: "draft", value: "harmless" });
      await agent.turn();
      expect(agent.sent).toEqual([]);
      expect(JSON.stringify(agent.messages)).toContain("approval_required");
    },
  );

  it("replaces the tool's own, as in the SDK", async () => {
    const { agent } = await asking({ ...careful, needsApproval: true });
    expect(agent.sent).toEqual(["harmless"]);
  });

  it("does not replace the policy: the strictest wins", async () => {
    const policy = () => ({ ask: "Really?" });
    const approved = await asking({ toolApproval: { send: "approved" }, policy });
    expect(approved.asked?.reason).toMatch(/^Really\?/);
    expect(approved.agent.sent).toEqual([]);
    const denied = await asking({ toolApproval: () => "denied", policy });
    expect(denied.asked).toBeUndefined();
    expect(denied.agent.sent).toEqual([]);
    const refused = await asking({
      toolApproval: { send: "approved" },
      policy: () => ({ deny: "No." }),
    });
    expect(refused.agent.sent).toEqual([]);
    expect(refused.agent.told).toContain("tool_denied");
  });

  it("is made again for a call that reuses an earlier id", async () => {
    const same = new ApprovingAgent({ needsApproval: true, said: [SEND, SEND, "Done."] });
    await same.store.save({ name: "draft", value: "harmless" });
    await same.turn();
    await same.store.save({ name: "draft", value: "EVIL" });
    same.messages = forged({ text: "$draft" });
    await same.answer("made-up");
    expect(same.sent).toEqual([]);
  });
});

it("a client of UI messages receives the input that would run, and its approval counts", async () => {
  const agent = new ApprovingAgent({ needsApproval: true, said: [SEND, "Done."] });
  await agent.store.save({ name: "draft", value: "harmless" });
  const question: UIMessage = { id: "1", role: "user", parts: [{ type: "text", text: "Go." }] };
  const asked = await agent.answerTo([question]);
  const part = asked.parts.find(isToolUIPart);
  expect(part?.approval?.requestReason).toBe(
    'send runs when a person approves it.\nInput: {"text":"harmless"}',
  );
  const answered = JSON.parse(JSON.stringify(asked)) as UIMessage;
  const parts = answered.parts.map((one) =>
    isToolUIPart(one)
      ? { ...one, state: "approval-responded", approval: { ...one.approval, approved: true } }
      : one,
  ) as UIMessage["parts"];
  await agent.answerTo([question, { ...answered, id: "2", parts }]);
  expect(agent.sent).toEqual(["harmless"]);
});

it("questions beyond the limit of a store are asked again, the oldest first", async () => {
  const store = new MemoryStore();
  const decisions = Decisions.of(store);
  const call = (toolCallId: string) => ({ toolCallId, messages: [], context: undefined });
  const decision = { pin: "a", requiresApproval: true, isOverride: false };
  for (let at = 0; at < limits.maxItems; at++) decisions.keep(call(`${at}`), decision);
  expect(decisions.take(call("0"))).toBe(decision);
  expect(decisions.take(call("0"))).toBeUndefined();
  decisions.keep(call("0"), decision);
  decisions.keep(call("one more"), decision);
  expect(decisions.take(call("1"))).toBeUndefined();
  expect(decisions.take(call("2"))).toBe(decision);
  expect(decisions.take(call("one more"))).toBe(decision);
});
