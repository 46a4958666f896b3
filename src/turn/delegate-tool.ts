import type { LanguageModel, UIMessageChunk } from "ai";
import * as z from "zod";
import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import { nameForCall } from "../store/names.ts";
import type { Write } from "../store/variable-store.ts";
import { flagged, strictestVisibility, type ValueLabels } from "../store/labels.ts";
import { type RuntimeTool, runtimeTool } from "../tool/runtime-tool.ts";
import { saveAt, stageAll } from "../tool/tool-call.ts";
import { chosenPlaces } from "../tool/save-target.ts";
import { digestOf } from "../tool/tool-input.ts";
import type { ToolPolicy } from "../tool/policy.ts";
import type { CallOptions, WrapOptions } from "../tool/wrapped-tool.ts";
import { compact, type Json } from "../value/json.ts";
import type { Agent } from "./agent.ts";

export const DELEGATE = "delegate";

export interface Equipped {
  readonly agent: Agent;
  /** Ends the connections. Never rejects. No tool may be called afterwards. */
  close(): Promise<void>;
}

export function withOwnTools(agent: Agent): Equipped {
  return { agent, close: () => Promise.resolve() };
}

export interface CalledAgent {
  readonly agent: Pick<Agent, "name" | "description">;
  readonly model: LanguageModel;
  readonly equip: (signal: AbortSignal) => Promise<Equipped>;
  /** Removes secrets, such as the model's key, from error texts. */
  readonly redact?: ((text: string) => string) | undefined;
  /** Receives chunks about the agent's tool calls. Only the calling agent receives its texts. */
  readonly onChunk?: (chunk: UIMessageChunk) => void;
}

/** Finds an agent by name. Throws `not_found`. */
export type FindAgent = (name: string) => CalledAgent;

export interface ModelAnswer {
  /** The answer's text with references resolved. If the answer is exactly one reference, its value. */
  readonly value: Json;
  /** Inherited from the values that the model saw and the values that it referenced. */
  readonly labels: ValueLabels;
}

export type AskAgent = (
  calledAgent: CalledAgent,
  question: { readonly prompt: string; readonly call: CallOptions },
) => Promise<ModelAnswer>;

const DESCRIPTION = "Give an agent a task, save its answer. It sees variables, no messages.";

/**
 * Creates the tool with which an agent calls one of others. The answer becomes a variable, like any tool result.
 */
export function delegateTool(
  calledAgents: readonly CalledAgent[],
  ask: AskAgent,
  wrap: WrapOptions,
): RuntimeTool {
  const known = new Map(calledAgents.map((calledAgent) => [calledAgent.agent.name, calledAgent]));
  const described = calledAgents.map(({ agent }) => `${agent.name}: ${agent.description}`);
  const inputSchema = z.object({ agent: z.enum([...known.keys()]), task: z.string().min(1) });
  return runtimeTool({
    name: DELEGATE,
    description: [DESCRIPTION, ...described].join("\n"),
    inputSchema,
    offeredFrom: "start",
    // It is unknown what the other agent's tools would do a second time.
    effects: "once",
    timeMs: limits.turnMs,
    async execute(input, { call, labels }) {
      const calledAgent = known.get(input.agent);
      if (calledAgent === undefined) {
        throw new ByrefError("not_found", `There is no agent ${input.agent}.`);
      }
      // In a tainted turn the task itself is untrusted.
      const question = { prompt: input.task, call: { ...call, madeOf: labels } };
      const asking = ask(calledAgent, question);
      const [answer, inputDigest] = await Promise.all([asking, digestOf(input)]);
      const write: Write = {
        value: answer.value,
        name: { ...nameForCall(DELEGATE, { agent: input.agent }), inputDigest },
        tool: DELEGATE,
        toolCallId: call.toolCallId,
        input,
        ...withPolicy(answer.labels, wrap.policies?.[DELEGATE]),
      };
      const places = call.saveTo === undefined ? [] : chosenPlaces(call.saveTo);
      const writes = saveAt({ write, places, unresolved: [], call }, wrap);
      return { output: null, save: () => stageAll(writes) };
    },
  });
}

/** Applies the calling agent's policy for `delegate` to the labels of an answer. */
function withPolicy(
  { visibility, sources, trusted, flags, madeOf }: ModelAnswer["labels"],
  { sealed, declassifies, source, trusted: isTrusted = true }: ToolPolicy = {},
): ModelAnswer["labels"] {
  const inherited = declassifies === true ? "model" : visibility;
  return {
    visibility: strictestVisibility([sealed === true ? "sealed" : "model", inherited]),
    sources: source === undefined ? sources : [...new Set([source, ...sources])],
    trusted: trusted && isTrusted,
    ...(declassifies === true ? {} : flagged(flags)),
    ...compact({ madeOf }),
  };
}
