import type { ModelMessage } from "ai";
import { guideOf, referencesOf, wrapOptionsFor } from "./agent.ts";
import { foundTools } from "./find-tools.ts";
import { detailsFor, type Guide, guidedText, NO_GUIDE } from "./history/guide.ts";
import { type Outline, outlineMessage } from "./history/outline.ts";
import { toModelMessages, withTail } from "./history/prompt.ts";
import { withoutRepeats } from "./history/shown-variables.ts";
import type { StoredMessage } from "./history/stored-message.ts";
import {
  type PromptRecord,
  VariableList,
  type VariableListOptions,
} from "./history/variable-list.ts";
import type { ModelRequest } from "./model/model-call.ts";
import { Toolbox, type ToolboxOptions } from "./toolbox.ts";
import type { TurnContext } from "./turn-context.ts";

type PromptContext = Pick<TurnContext, "agent" | "model" | "newId" | "store" | "services">;

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
export interface Prompt extends Omit<ModelRequest, "signal"> {
  /** The explanation of references: in the instructions, or later. */
  readonly guide: Guide;
  /** True if the guide's details are in the last message. */
  readonly hasDetails: boolean;
}

/** Builds the prompts of an attempt, one for each model call: instructions, tools, messages, list of variables. */
export class Prompts {
  readonly tools: Toolbox;
  readonly past: readonly ModelMessage[];
  readonly #context: PromptContext;
  readonly #options: PromptOptions;
  readonly #list: VariableList;
  #found: readonly string[];

  /** Opens the tools, and converts the past messages. */
  static async open(context: PromptContext, options: PromptOptions): Promise<Prompts> {
    const { agent, store, services } = context;
    const { window, outline, taint, owner, toolbox } = options;
    const wrap = { ...wrapOptionsFor(agent), store, taint, ...(owner && { owner }) };
    const tools = await Toolbox.open(agent, wrap, { ...services, ...toolbox });
    const past = [
      ...(outline === undefined ? [] : [outlineMessage(outline, agent)]),
      ...(await toModelMessages(window, tools.all)),
    ];
    return new Prompts(context, options, { tools, past });
  }

  private constructor(
    context: PromptContext,
    options: PromptOptions,
    { tools, past }: Pick<Prompts, "tools" | "past">,
  ) {
    const { agent, store } = context;
    const { window, outline, taint, variables, own } = options;
    this.tools = tools;
    this.past = past;
    this.#context = context;
    this.#options = options;
    const records = [...window.map(({ prompt }) => prompt), own];
    const named = records.flatMap((record) => record?.tools ?? []);
    this.#found = foundTools(tools.deferred, past, named);
    this.#list = new VariableList({
      store,
      taint,
      hidesUntrusted: agent.untrusted === "hide",
      syntaxes: referencesOf(agent).syntaxes,
      variables,
      before: [
        ...(outline === undefined ? [] : [COMPACTED]),
        ...window.flatMap(({ prompt }) => prompt ?? []),
      ],
      own,
    });
  }

  /** State of the prompts. Undefined if there is nothing to store. */
  get record(): PromptRecord | undefined {
    const { record = this.#found.length === 0 ? undefined : { stage: "start" as const } } =
      this.#list;
    return record && { ...record, ...(this.#found.length === 0 ? {} : { tools: this.#found }) };
  }

  /** Builds the prompt of the next model call. Adds what these messages do not show to the list. */
  next(messages: readonly ModelMessage[]): Prompt {
    const { agent, model, newId } = this.#context;
    const { taint, variables } = this.#options;
    const { stage, hasHandle, lines } = this.#list.next(messages);
    this.#found = foundTools(this.tools.deferred, messages, this.#found);
    // A question that shows no variables needs no explanation of references.
    const guide = variables?.()?.length === 0 ? NO_GUIDE : guideOf(agent);
    const details = detailsFor(guide, { hasHandle, isTainted: taint.isTainted });
    const listed = withTail(withoutRepeats(messages), { details, lines });
    return {
      model: this.tools.modelFor(model, newId),
      instructions: guidedText(agent.instructions, guide),
      messages: listed,
      hasList: listed.length > messages.length,
      tools: this.tools.offeredAt(stage, this.#found),
      callable: this.tools.all,
      hasTags: this.tools.hasTags,
      guide,
      hasDetails: details !== "",
    };
  }
}

/** True if a prompt with these messages repeats what a model wrote after it had seen untrusted content. */
export function isTaintedPrompt(window: readonly StoredMessage[], outline?: Outline): boolean {
  return (
    window.some(({ tainted }) => tainted === true) ||
    outline?.lines.some(({ isTainted }) => isTainted === true) === true
  );
}

/** State of prompts once turns are in the variable `$history`. */
const COMPACTED = { stage: "text", hasHandle: true } as const;
