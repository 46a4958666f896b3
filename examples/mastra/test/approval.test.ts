import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { changeInput, MemoryStore, requireTrusted, withToolVariables } from "byref/mastra";
import { beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import {
  APPROVAL_CASES,
  CHANGED_CASES,
  type ApprovalHost,
  FIRST,
  play,
} from "../../../test/contract/approval-cases.ts";
import { agentOf, ScriptedModel, type Step } from "../scripted-model.ts";

type Options = Parameters<typeof withToolVariables>[1];

let store: MemoryStore;
let sent: unknown[];

beforeEach(async () => {
  store = new MemoryStore();
  sent = [];
  await store.save({ name: "recipient", value: "ada@example.com" });
});

const mail = z.object({ to: z.string() });
/** Sends mail. Whether a person has to approve it is a parameter. */
const sendMail = (requireApproval?: boolean | ((input: z.infer<typeof mail>) => boolean)) =>
  createTool({
    id: "send_mail",
    description: "Sends mail.",
    inputSchema: mail,
    ...(requireApproval === undefined ? {} : { requireApproval }),
    execute: async (input) => {
      sent.push(input);
      return { sent: true };
    },
  });

function setUp(tool: ReturnType<typeof sendMail>, options: Options = {}) {
  const steps: readonly Step[] = [
    { calls: [["send_mail", { to: "$recipient" }]] },
    { text: "Sent to $recipient." },
    { text: "Again." },
  ];
  const model = new ScriptedModel(steps);
  const agent = agentOf(model, { tools: { send_mail: tool } });
  const mailer = withToolVariables(agent, { store, ...options });
  // The storage contains the waiting runs.
  const mastra = new Mastra({ agents: { mailer }, storage: new InMemoryStore(), logger: false });
  return { model, agent: mastra.getAgent("mailer") };
}

async function chunkOf(stream: { fullStream: AsyncIterable<{ type: string }> }, type: string) {
  const chunks: { type: string; payload?: { args?: unknown; toolCallId?: string } }[] = [];
  for await (const chunk of stream.fullStream) chunks.push(chunk);
  return chunks.find((chunk) => chunk.type === type);
}

describe("a call that needs approval", () => {
  it.each([
    ["the tool says so", sendMail(true), {}],
    ["a function of the tool says so", sendMail(({ to }) => to === "ada@example.com"), {}],
    ["the call says so", sendMail(), { requireToolApproval: true }],
    [
      "a function of the call says so",
      sendMail(),
      {
        requireToolApproval: ({ args }: { args: Record<string, unknown> }) =>
          args.to === "ada@example.com",
      },
    ],
  ] as const)("shows the resolved input and runs once approved: %s", async (_, tool, call) => {
    const { agent } = setUp(tool);
    const stream = await agent.stream("Send.", call);
    const asked = await chunkOf(stream, "tool-call-approval");
    expect(asked?.payload?.args).toEqual({ to: "ada@example.com" });
    expect(sent).toEqual([]);
    const resumed = await agent.approveToolCall({ runId: stream.runId });
    expect(await resumed.text).toContain("Sent to ada@example.com.");
    expect(sent).toEqual([{ to: "ada@example.com" }]);
  });

  it("shows the resolved input in what generate returns", async () => {
    const { agent } = setUp(sendMail(true));
    const output = await agent.generate("Send.");
    expect(output.finishReason).toBe("suspended");
    expect(output.suspendPayload).toMatchObject({ args: { to: "ada@example.com" } });
    const resumed = await agent.approveToolCallGenerate({ runId: output.runId ?? "" });
    expect(resumed.text).toContain("Sent to ada@example.com.");
  });

  it("does not ask if a function decides so on the resolved input", async () => {
    const { agent } = setUp(sendMail(({ to }) => to !== "ada@example.com"));
    await agent.generate("Send.");
    expect(sent).toHaveLength(1);
    const { agent: other } = setUp(sendMail());
    const seen: unknown[] = [];
    await other.generate("Send.", {
      requireToolApproval: ({ args }) => {
        seen.push(args);
        return false;
      },
    });
    expect(seen).toEqual([{ to: "ada@example.com" }]);
    expect(sent).toHaveLength(2);
  });

  it("does not run if it could not be resolved when it was asked about", async () => {
    store.delete("recipient");
    const { agent } = setUp(sendMail(), { unknown: "error" });
    const stream = await agent.stream("Send.", { requireToolApproval: true });
    await stream.text;
    await store.save({ name: "recipient", value: "eve@example.com" });
    await (
      await agent.approveToolCall({ runId: stream.runId })
    ).text;
    expect(sent).toEqual([]);
  });

  it("is asked about by the policy, too", async () => {
    await store.save({
      name: "recipient",
      value: "eve@example.com",
      trusted: false,
      mode: "replace",
    });
    const { agent } = setUp(sendMail(), { policy: requireTrusted(["send_mail"]) });
    const stream = await agent.stream("Send.");
    const asked = await chunkOf(stream, "tool-call-approval");
    expect(asked?.payload?.args).toEqual({ to: "eve@example.com" });
    expect(sent).toEqual([]);
    await (
      await agent.approveToolCall({ runId: stream.runId })
    ).text;
    expect(sent).toEqual([{ to: "eve@example.com" }]);
  });
});

describe("a call that its tool suspends", () => {
  const confirm = createTool({
    id: "send_mail",
    description: "Sends mail after a question.",
    inputSchema: mail,
    suspendSchema: z.object({ question: z.string() }),
    resumeSchema: z.object({ yes: z.boolean() }),
    execute: async (input, { agent }) => {
      if (agent?.resumeData === undefined) {
        await agent?.suspend({ question: "Really?" });
        return { sent: false };
      }
      sent.push([input, agent.resumeData]);
      return { sent: true };
    },
  }) as unknown as ReturnType<typeof sendMail>;

  it("shows the resolved input, saves nothing, and runs with the answer", async () => {
    const { agent } = setUp(confirm);
    const stream = await agent.stream("Send.");
    const asked = await chunkOf(stream, "tool-call-suspended");
    expect(asked?.payload).toMatchObject({
      args: { to: "ada@example.com" },
      suspendPayload: { question: "Really?" },
    });
    expect(store.list().map(({ name }) => name)).toEqual(["recipient"]);
    const resumed = await agent.resumeStream({ yes: true }, { runId: stream.runId });
    expect(await resumed.text).toContain("Sent to ada@example.com.");
    expect(sent).toEqual([[{ to: "ada@example.com" }, { yes: true }]]);
    expect(store.list()).toHaveLength(2);
  });

  it("does not run if its variable has changed since", async () => {
    const { agent } = setUp(confirm);
    const output = await agent.generate("Send.");
    expect(output.suspendPayload).toMatchObject({
      args: { to: "ada@example.com" },
      suspendPayload: { question: "Really?" },
    });
    await store.save({ name: "recipient", value: "eve@example.com", mode: "replace" });
    await agent.resumeGenerate({ yes: true }, { runId: output.runId ?? "" });
    expect(sent).toEqual([]);
  });
});

describe("runs that wait", () => {
  const look = createTool({
    id: "look",
    description: "Looks at a text.",
    inputSchema: z.object({ at: z.string() }),
    execute: async (input) => {
      sent.push(input);
      return { seen: true };
    },
  });
  const mailerWith = (model: ScriptedModel, storage: InMemoryStore) => {
    const agent = agentOf(model, { tools: { send_mail: sendMail(true), look } });
    const mailer = withToolVariables(agent, { store });
    return new Mastra({ agents: { mailer }, storage, logger: false }).getAgent("mailer");
  };

  it("run other calls of the step, which nobody has to approve, after an approval", async () => {
    const model = new ScriptedModel([
      {
        calls: [
          ["send_mail", { to: "$recipient" }],
          ["look", { at: "$recipient" }],
        ],
      },
      { text: "Done." },
    ]);
    const agent = mailerWith(model, new InMemoryStore());
    const stream = await agent.stream("Send.");
    await stream.text;
    await (
      await agent.approveToolCall({ runId: stream.runId })
    ).text;
    expect(sent).toContainEqual({ to: "ada@example.com" });
    expect(sent).toContainEqual({ at: "ada@example.com" });
  });

  it.each([
    ["asks again about a reference", "$recipient", []],
    ["runs what is as it was shown", "bob@example.com", [{ to: "bob@example.com" }]],
  ] as const)("after a restart: %s", async (_, to, expected) => {
    const storage = new InMemoryStore();
    const steps: readonly Step[] = [{ calls: [["send_mail", { to }]] }, { text: "Done." }];
    const stream = await mailerWith(new ScriptedModel(steps), storage).stream("Send.");
    await stream.text;
    const model = new ScriptedModel(steps.slice(1));
    const restarted = mailerWith(model, storage);
    await (
      await restarted.approveToolCall({ runId: stream.runId })
    ).text;
    expect(sent).toEqual(expected);
    const asked = JSON.stringify(model.prompts.at(-1)?.prompt).includes("approval_required");
    expect(asked).toBe(expected.length === 0);
  });

  /** A host whose model calls the tool again and again. An approval's id consists of the run's and the call's. */
  async function openHost(): Promise<ApprovalHost> {
    const storage = new InMemoryStore();
    const step: Step = { calls: [["send_mail", { to: "$recipient" }]] };
    const start = () =>
      mailerWith(new ScriptedModel(Array.from({ length: 9 }, () => step)), storage);
    let agent = start();
    const open = async (stream: Awaited<ReturnType<typeof agent.stream>>) => {
      const asked = await chunkOf(stream, "tool-call-approval");
      return asked && `${stream.runId} ${asked.payload?.toolCallId}`;
    };
    const save = (value: number) =>
      store.save({ name: "recipient", value: String(value), mode: "replace" });
    await save(FIRST);
    return {
      save,
      ask: async () => open(await agent.stream("Send.")),
      answer: async (id, isApproved, value) => {
        const [runId = "", toolCallId] = id.split(" ");
        const about = { runId, ...(toolCallId && { toolCallId }) };
        if (value !== undefined) {
          // Numbers are texts here, and another text is no input.
          const to =
            value === "$sum" ? "$recipient" : typeof value === "number" ? String(value) : [value];
          await changeInput(agent, { runId, toolCallId: toolCallId ?? "" }, { to });
        }
        return open(
          await (isApproved ? agent.approveToolCall(about) : agent.declineToolCall(about)),
        );
      },
      restart: async () => {
        agent = start();
      },
    };
  }

  it.each([...APPROVAL_CASES, ...CHANGED_CASES])("%s", async (_rule, acts, values) => {
    await play(await openHost(), acts);
    expect(sent).toEqual(values.map((value) => ({ to: String(value) })));
  });
});
