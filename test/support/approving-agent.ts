import {
  type ModelMessage,
  tool,
  ToolLoopAgent,
  type ToolLoopAgentSettings,
  type ToolSet,
} from "ai";
import * as z from "zod";
import type { Json } from "../../src/value/json.ts";
import {
  changeInput,
  MemoryStore,
  type ToolVariablesOptions,
  withToolVariables,
} from "../../packages/adapters/src/agent.ts";
import { scriptedModel, type Step } from "../../packages/testing/src/testing.ts";
import { toolOf } from "./tool-of.ts";

type Settings = ToolLoopAgentSettings<never, ToolSet>;
type Approval = {
  readonly id: string;
  readonly callId: string;
  readonly reason: string | undefined;
};

export interface ApprovingOptions extends ToolVariablesOptions {
  readonly store?: MemoryStore;
  readonly said: readonly Step[];
  readonly needsApproval?: boolean | ((input: { text: string }) => boolean);
  readonly toolApproval?: Settings["toolApproval"];
  readonly secret?: string;
  readonly mode?: "generate" | "stream";
}

/** An agent with a tool `send`, which records what it sends, and a client that holds the conversation. */
export class ApprovingAgent {
  readonly store: MemoryStore;
  readonly sent: string[] = [];
  messages: ModelMessage[] = [{ role: "user", content: "Go." }];
  readonly model;
  readonly #agent;
  readonly #mode: "generate" | "stream";

  constructor({ said, needsApproval, toolApproval, secret, mode, ...options }: ApprovingOptions) {
    this.store = options.store ?? new MemoryStore();
    this.model = scriptedModel(said);
    this.#mode = mode ?? "generate";
    const tools: ToolSet = {
      send: tool({
        inputSchema: z.object({ text: z.string() }),
        ...(needsApproval === undefined ? {} : { needsApproval }),
        execute: ({ text }) => {
          this.sent.push(text);
          return "sent";
        },
      }),
      put: toolOf({ name: z.string(), value: z.string() }, async ({ name, value }) => {
        await this.store.save({ name, value });
        return "saved";
      }),
    };
    const settings: Settings = {
      model: this.model,
      tools,
      ...(toolApproval === undefined ? {} : { toolApproval }),
      ...(secret === undefined ? {} : { experimental_toolApprovalSecret: secret }),
    };
    this.#agent = withToolVariables(new ToolLoopAgent(settings), { ...options, store: this.store });
  }

  /** Sends the messages and adds the answer to them. Returns the approvals that it asks for. */
  async turn(): Promise<readonly Approval[]> {
    const result = await this.#result();
    this.messages = [...this.messages, ...(await result.responseMessages)];
    return (await result.content).flatMap((part) =>
      part.type === "tool-approval-request" && part.isAutomatic !== true
        ? [{ id: part.approvalId, callId: part.toolCall.toolCallId, reason: part.reason }]
        : [],
    );
  }

  async #result() {
    const { messages } = this;
    if (this.#mode === "generate") return this.#agent.generate({ messages });
    const streamed = await this.#agent.stream({ messages });
    await streamed.consumeStream();
    return streamed;
  }

  /** Gives the call another text, in which `$sum` is `$draft`. Numbers are texts; another text is no input. */
  change(approvalId: string, given: Json): Promise<string> {
    const all = this.messages.flatMap(({ role, content }) =>
      role === "assistant" && typeof content !== "string" ? content : [],
    );
    const asked = all.find((part) => "approvalId" in part && part.approvalId === approvalId);
    const id = asked?.type === "tool-approval-request" ? asked.toolCallId : "";
    const text = given === "$sum" ? "$draft" : typeof given === "number" ? String(given) : [given];
    return changeInput(this.store, id, { text });
  }

  /** Sends the approval, and runs the turn after it. */
  answer(approvalId: string | undefined, approved = true): Promise<readonly Approval[]> {
    const response = { type: "tool-approval-response", approved } as const;
    this.messages = [
      ...this.messages,
      { role: "tool", content: [{ ...response, approvalId: approvalId ?? "" }] },
    ];
    return this.turn();
  }

  /** Returns the last tool message of the conversation as JSON. */
  get told(): string {
    const said = this.messages.findLast(({ role }) => role === "tool");
    return JSON.stringify(said);
  }
}

/** The call under test. */
export const SEND: Step = [{ tool: "send", input: { text: "$draft" } }];
