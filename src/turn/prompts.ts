import type { ModelMessage } from "ai";
import { guideOf, referencesOf, wrapOptionsFor } from "./agent.ts";
import { foundTools } from "./find-tools.ts";
import { type Guide, guidedText, NO_GUIDE } from "./history/guide.ts";
import { type Outline, outlineMessage } from "./history/compaction.ts";
import { toModelMessages } from "./history/prompt.ts";
import type { StoredMessage } from "./history/stored-message.ts";
import {
  type PromptRecord,
  VariableList,
  type VariableListOptions,
} from "./history/variable-list.ts";
import type { ModelRequest } from "./model/model-call.ts";
import { openToolbox, type ToolboxOptions } from "./toolbox.ts";
import type { TurnContext } from "./turn-context.ts";

export interface PromptOptions extends Pick<VariableListOptions, "own" | "taint" | "variables"> {
  /** The past messages that fit into the prompt. */
  readonly window: readonly StoredMessage[];
  /** The outline of the turns before them. Default: there are none. */
  readonly outline?: Outline | undefined;
  /** Holder that protects the calls' variables from eviction. */
  readonly owner?: string;
  readonly toolbox?: ToolboxOptions;
}

/** A prompt before it is in the form that providers accept. */
export interface Prompt extends ModelRequest {
  /** The explanation of references: in the instructions, or later. */
  readonly guide: Guide;
  /** True if the guide's details are in the last message. */
  readonly hasDetails: boolean;
}

/**
 * Opens the tools, and converts the past messages. Returns what builds the prompts of an attempt, one for each model call:
 * instructions, tools, messages, list of variables.
 */
export async function openPrompts(
  context: Pick<TurnContext, "agent" | "model" | "newId" | "store" | "services">,
  options: PromptOptions,
) {
  const { agent, store, services, model, newId } = context;
  const { window, outline, taint, variables, own, owner, toolbox } = options;
  const { syntaxes } = referencesOf(agent);
  const wrap = { ...wrapOptionsFor(agent), store, taint, ...(owner && { owner }) };
  const tools = await openToolbox(agent, wrap, { ...services, ...toolbox });
  const past = [
    ...(outline === undefined ? [] : [outlineMessage(outline, agent)]),
    ...(await toModelMessages(window, tools.all)),
  ];
  const records = window.flatMap(({ prompt }) => prompt ?? []);
  const named = [...records, own].flatMap((record) => record?.tools ?? []);
  let found = foundTools(tools.deferred, past, named);
  const list = new VariableList({
    store,
    taint,
    hidesUntrusted: agent.untrusted === "hide",
    syntaxes,
    variables,
    before: outline === undefined ? records : [COMPACTED, ...records],
    own,
  });
  return {
    tools,
    /** The outline and the past messages. */
    past,

    /** State of the prompts. Undefined if there is nothing to store. */
    get record(): PromptRecord | undefined {
      const { record = found.length === 0 ? undefined : { stage: "start" as const } } = list;
      return record && { ...record, ...(found.length === 0 ? {} : { tools: found }) };
    },

    /** Builds the prompt of the next model call. Adds what these messages do not show to the list. */
    next(messages: readonly ModelMessage[]): Prompt {
      found = foundTools(tools.deferred, messages, found);
      // A question that shows no variables needs no explanation of references.
      const guide = variables?.()?.length === 0 ? NO_GUIDE : guideOf(agent);
      const { stage, ...prompt } = list.promptWith(messages, guide);
      return {
        ...prompt,
        model: tools.modelFor(model, newId),
        instructions: guidedText(agent.instructions, guide),
        tools: tools.offeredAt(stage, found),
        callable: tools.all,
        hasTags: tools.hasTags,
        guide,
      };
    },
  };
}

export type Prompts = Awaited<ReturnType<typeof openPrompts>>;

/** True if a prompt with these messages repeats what a model wrote after it had seen untrusted content. */
export function isTaintedPrompt(window: readonly StoredMessage[], outline?: Outline): boolean {
  return (
    window.some(({ tainted }) => tainted === true) ||
    outline?.lines.some(({ isTainted }) => isTainted === true) === true
  );
}

/** State of prompts once turns are in the variable `$history`. */
const COMPACTED = { stage: "text", hasHandle: true } as const;
