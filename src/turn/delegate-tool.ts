import type { LanguageModel, UIMessageChunk } from "ai";
import * as z from "zod";
import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import type { ModelAnswer } from "../plan/plan-format.ts";
import { nameForCall } from "../store/names.ts";
import type { Write } from "../store/variable-store.ts";
import { flagged, strictestVisibility } from "../store/labels.ts";
import { type RuntimeTool, runtimeTool } from "../tool/runtime-tool.ts";
import { savingAt, writesAt } from "../tool/save-result.ts";
import { chosenPlaces } from "../tool/save-target.ts";
import { digestOf } from "../tool/tool-input.ts";
import type { ToolPolicy } from "../tool/policy.ts";
import type { CallOptions, WrapOptions } from "../tool/wrapped-tool.ts";
import type { Agent } from "./agent.ts";

export const DELEGATE = "delegate";

/** An agent that can be asked in the middle of a turn. */
export interface CalledAgent {
  readonly agent: Agent;
  readonly model: LanguageModel;
  /** The agent with tools that it has for one question. Default: it has none but its own. */
  readonly equip?: (
    signal: AbortSignal,
  ) => Promise<{ readonly agent: Agent; close(): Promise<void> }>;
  /** Takes out what nobody may be told, such as the model's key. */
  readonly redact?: (text: string) => string;
  /** Receives what happens to the calls of its tools; its texts are nobody's but the asker's. */
  readonly onChunk?: (chunk: UIMessageChunk) => void;
}

/** The agent of that name. Throws `unknown_agent`. */
export type FindAgent = (name: string) => CalledAgent;

/** Puts a question to an agent, and answers with what it says. */
export type AskAgent = (
  calledAgent: CalledAgent,
  question: { readonly prompt: string; readonly call: CallOptions },
) => Promise<ModelAnswer>;

interface DelegateOptions {
  /** Those that may be asked, one at least. */
  readonly calledAgents: readonly CalledAgent[];
  readonly ask: AskAgent;
  readonly wrap: WrapOptions;
}

const DESCRIPTION = `Gives a task to another agent and keeps what it finds as a variable. The agent sees the variables and nothing else of this conversation: the task has to say all that it needs. A reference in the task stays a reference, which the agent reads for itself.
Agents:`;

/** The tool with which an agent asks another; what is found is a variable, as any tool's result. */
export function delegateTool({ calledAgents, ask, wrap }: DelegateOptions): RuntimeTool {
  const known = new Map(calledAgents.map((calledAgent) => [calledAgent.agent.name, calledAgent]));
  const described = calledAgents.map(({ agent }) => `${agent.name}: ${agent.description}`);
  const inputSchema = z.object({ agent: z.enum([...known.keys()]), task: z.string().min(1) });
  return runtimeTool({
    name: DELEGATE,
    description: [DESCRIPTION, ...described].join("\n"),
    inputSchema,
    // What the other agent's tools would do a second time nobody knows.
    effects: "once",
    timeMs: limits.turnMs,
    async execute(input, { call, labels }) {
      const calledAgent = known.get(input.agent);
      if (calledAgent === undefined) {
        throw new ByrefError("unknown_agent", `There is no agent ${input.agent}.`);
      }
      // In a tainted turn the task is words that nobody need trust.
      const asked = { prompt: input.task, call: { ...call, madeOf: labels } };
      const [answer, inputDigest] = await Promise.all([ask(calledAgent, asked), digestOf(input)]);
      const write: Write = {
        value: answer.value,
        name: { ...nameForCall(DELEGATE, { agent: input.agent }), inputDigest },
        tool: DELEGATE,
        toolCallId: call.toolCallId,
        input,
        ...withPolicy(answer.labels, wrap.policies?.[DELEGATE]),
      };
      const places = call.saveTo === undefined ? [] : chosenPlaces(call.saveTo);
      const saving = { writes: writesAt(places, write), places, unresolved: [], call };
      return { output: null, save: savingAt(saving, wrap) };
    },
  });
}

/** What the asking agent says of such results beside what they are. */
function withPolicy(
  { visibility, sources, trusted, flags }: ModelAnswer["labels"],
  { sealed, declassifies, source, trusted: isTrusted = true }: ToolPolicy = {},
): ModelAnswer["labels"] {
  const inherited = declassifies === true ? "model" : visibility;
  return {
    visibility: strictestVisibility([sealed === true ? "sealed" : "model", inherited]),
    sources: source === undefined ? sources : [...new Set([source, ...sources])],
    trusted: trusted && isTrusted,
    ...(declassifies === true ? {} : flagged(flags)),
  };
}
