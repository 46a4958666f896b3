import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { LanguageModel, ModelMessage } from "ai";
import { Taint } from "../store/labels.ts";
import type { PromptStage } from "../tool/runtime-tool.ts";
import { compact } from "../value/json.ts";
import { detailsFor } from "./history/guide.ts";
import type { History } from "./history/history.ts";
import { prepareModelCall, resolvedModel } from "./model/model-call.ts";
import { isTaintedPrompt, openPrompts, type Prompt } from "./prompts.ts";
import { charsOfMessage, charsOfTools } from "./spend/account.ts";
import type { TurnContext } from "./turn-context.ts";

/** The prompt of a model call, with sizes in characters as `savings` counts them. */
export interface PromptDescription {
  readonly agent: string;
  /** The agent's instructions with what Byref adds. With calls as tags, they describe the tools. */
  readonly instructions: SizedText;
  /** The agent's tools in their order, then Byref's, in the order in which they are offered. */
  readonly tools: readonly DescribedTool[];
  /** The definitions that are sent, as one JSON array. */
  readonly toolChars: number;
  /** The messages of the next call. Its question has no characters yet. */
  readonly messages: readonly { readonly role: string; readonly chars: number }[];
  /** Explanation of references, sent once there is a handle or a guarded variable. Absent if there are no details. */
  readonly guide?: SizedText & { readonly sent: boolean };
  /** The last message, if there is one: the guide once it is sent, and the list of variables. */
  readonly tail?: SizedText;
  /** Instructions, definitions and messages. */
  readonly sentChars: number;
  /** The tools and the guide that are not sent yet. */
  readonly laterChars: number;
}

interface SizedText {
  readonly text: string;
  readonly chars: number;
}

interface DescribedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: object;
  readonly chars: number;
  /**
   * The stage from which one of Byref's own tools is offered. Absent for an agent's tool, which is always offered.
   */
  readonly offeredFrom?: PromptStage;
  readonly sent: boolean;
}

/**
 * Describes the prompt of the next model call, with an empty question. Built by the same code as those of turns, up to
 * what the provider's model receives. Calls no model and writes nothing, so it compacts nothing.
 */
export async function describePrompt(
  options: Pick<TurnContext, "agent" | "model" | "store" | "services"> & {
    readonly history?: History | undefined;
  },
): Promise<PromptDescription> {
  const { agent, history } = options;
  const window = history?.window() ?? [];
  const outline = history?.compacted;
  const taint = new Taint(isTaintedPrompt(window, outline));
  const recorder = recorderOf(options.model);
  // No call is made that would need an id.
  const context = { ...options, model: recorder.model, newId: () => "" };
  const prompts = await openPrompts(context, { window, outline, taint });
  const prompt = prompts.next([...prompts.past, NEXT_QUESTION]);
  const tools = prompts.tools.offeredAt("text", [...prompts.tools.deferred.names]);
  const now = await recorder.sent(prompt);
  const all = await recorder.sent({ ...prompt, tools });
  const details = detailsFor(prompt.guide, { hasHandle: true, isTainted: taint.isTainted });
  const guide = details === "" ? undefined : { ...sized(details), sent: prompt.hasDetails };
  const describe = (definition: Definition): DescribedTool => {
    const { name, type } = definition;
    // A tool that the instructions describe has no definition of its own, and no characters.
    const isSent = all.received.tools?.includes(definition) === true;
    const { description, inputSchema } = type === "function" ? definition : {};
    return {
      name,
      chars: isSent ? JSON.stringify(definition).length : 0,
      ...compact({ description, inputSchema, offeredFrom: prompts.tools.offeredFrom(name) }),
      sent: now.definitions.some((one) => one.name === name),
    };
  };
  return {
    agent: agent.name,
    instructions: sized(now.instructions),
    tools: all.definitions.map(describe),
    toolChars: charsOfTools(now.received.tools),
    messages: now.messages,
    ...compact({ guide, tail: tailOf(prompt) }),
    sentChars: now.chars,
    laterChars: all.chars - now.chars + (guide?.sent === false ? guide.chars : 0),
  };
}

/** A prompt without a message cannot be sent. */
const NEXT_QUESTION: ModelMessage = { role: "user", content: "" };

type Definition = NonNullable<LanguageModelV4CallOptions["tools"]>[number];

/** Has the place of the provider's model, and notes what it would receive. */
function recorderOf(replaced: LanguageModel) {
  const { provider, modelId, supportedUrls } = resolvedModel(replaced);
  let noted: LanguageModelV4CallOptions | undefined;
  const recorder: LanguageModelV4 = {
    specificationVersion: "v4",
    provider,
    modelId,
    supportedUrls,
    doGenerate: () => Promise.reject(new Error("Nothing is generated.")),
    doStream: async (received) => {
      noted = received;
      return { stream: new ReadableStream({ start: (stream) => stream.close() }) };
    },
  };
  /** Returns the request that the provider's model receives. With calls as tags, the instructions describe the tools. */
  const sent = async (prompt: Prompt) => {
    const { model, options } = await prepareModelCall(prompt);
    await model.doStream(options);
    const received = noted ?? options;
    const [first, ...rest] = received.prompt;
    const instructions = first?.role === "system" ? first.content : "";
    const others = first?.role === "system" ? rest : received.prompt;
    const messages = others.map((one) => ({ role: one.role, chars: charsOfMessage(one) }));
    const chars = messages.reduce(
      (sum, message) => sum + message.chars,
      instructions.length + charsOfTools(received.tools),
    );
    return { received, definitions: options.tools ?? [], instructions, messages, chars };
  };
  return { model: recorder, sent };
}

function tailOf({ messages }: Prompt): SizedText | undefined {
  const last = messages.at(-1);
  return last !== NEXT_QUESTION && typeof last?.content === "string"
    ? sized(last.content)
    : undefined;
}

function sized(text: string): SizedText {
  return { text, chars: text.length };
}
