import type { Instructions, ModelMessage, PrepareStepFunction, ToolResultPart, ToolSet } from "ai";
import { VariableList, toolOutputs, guides, type wraps } from "../../../../src/internal-tool.ts";
import { Taint, type VariableStore, json, summaries } from "../../../../src/internal.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";

export type InstructionStyle = guides.InstructionStyle;

/**
 * Appends the guide to references to the instructions, in the syntax that is on (default: dollars). Adds it only once.
 */
export function withGuide(
  instructions: Instructions | undefined,
  style?: Exclude<InstructionStyle, "none">,
  syntaxes?: wraps.WrapOptions["syntaxes"],
): Instructions;
export function withGuide(
  instructions: Instructions | undefined,
  style?: InstructionStyle,
  syntaxes?: wraps.WrapOptions["syntaxes"],
): Instructions | undefined;
export function withGuide(
  instructions: Instructions | undefined,
  style?: InstructionStyle,
  syntaxes?: wraps.WrapOptions["syntaxes"],
): Instructions | undefined {
  const { start: guide } = guides.guideFor(style, syntaxes);
  if (guide === "") return instructions;
  if (instructions === undefined || instructions === "") return guide;
  if (JSON.stringify(instructions).includes(JSON.stringify(guide).slice(1, -1))) {
    return instructions;
  }
  if (typeof instructions === "string") return `${instructions}\n\n${guide}`;
  const messages = Array.isArray(instructions) ? instructions : [instructions];
  return [...messages, { role: "system", content: guide }];
}

/** The variables in the list, and its format; `policies`: which tools' results in the messages are untrusted. */
export interface ListingOptions<
  Tools extends ToolSet = ToolSet,
  Context extends Record<string, unknown> = Record<string, unknown>,
> extends Pick<wraps.WrapOptions, "store" | "syntaxes" | "taint" | "untrusted" | "policies"> {
  /** Also prepares each step. It does not see the lists. */
  readonly prepareStep?: PrepareStepFunction<Tools, Context> | undefined;
  readonly instructionStyle?: guides.InstructionStyle;
}

/** Returns a `prepareStep` that lists the current variables in each step. */
export function listingVariables<
  Tools extends ToolSet = ToolSet,
  Context extends Record<string, unknown> = Record<string, unknown>,
>(options: ListingOptions<Tools, Context>): PrepareStepFunction<Tools, Context> {
  const {
    store,
    prepareStep,
    instructionStyle,
    syntaxes,
    taint = new Taint(),
    untrusted,
  } = options;
  const list = new VariableList({ store, taint, syntaxes, hidesUntrusted: untrusted === "hide" });
  const guide = guides.guideFor(instructionStyle, syntaxes);
  // The SDK passes a step's messages on to the next step. Each tail must appear only once.
  const tails = new WeakSet<ModelMessage>();
  return async (step) => {
    const own = step.messages.filter((message) => !tails.has(message));
    if (step.stepNumber === 0 && showsUntrusted(own, options)) taint.add();
    const prepared = await prepareStep?.({ ...step, messages: own });
    const messages = prepared?.messages ?? own;
    const { messages: listed, hasList } = list.promptWith(messages, guide);
    const tail = hasList ? listed.at(-1) : undefined;
    if (tail !== undefined) tails.add(tail);
    const instructions = prepared?.instructions ?? prepared?.system;
    return {
      ...prepared,
      messages: listed,
      ...(instructions === undefined
        ? {}
        : { instructions: withGuide(instructions, instructionStyle, syntaxes) ?? instructions }),
    };
  };
}

/** Added to the name of an untrusted variable whose value a tool's own `toModelOutput` shows. */
export const UNTRUSTED_NOTE = ", untrusted";
const UNTRUSTED_LABEL = new RegExp(`^\\$\\w+${UNTRUSTED_NOTE}:`, "u");

/**
 * True if the messages show the model an untrusted result. The history may outlive this process, so the
 * taint is derived from it.
 */
export function showsUntrusted(
  messages: readonly ModelMessage[],
  options: Pick<wraps.WrapOptions, "policies" | "untrusted">,
): boolean {
  return messages.some(
    ({ role, content }) =>
      (role === "tool" || role === "assistant") &&
      typeof content !== "string" &&
      content.some((part) => part.type === "tool-result" && isUntrusted(part, options)),
  );
}

function isUntrusted(
  { toolName, output }: ToolResultPart,
  { policies = {}, untrusted }: Pick<wraps.WrapOptions, "policies" | "untrusted">,
): boolean {
  if (output.type === "json" && json.isObject(output.value)) {
    const { untrusted: isMarked, visibility } = output.value;
    if (isMarked === true) return true;
    // A guarded handle shows no value.
    if (typeof visibility === "string") return false;
  }
  const [first] = output.type === "content" ? output.value : [];
  const text = output.type === "text" ? output.value : first?.type === "text" ? first.text : "";
  if (UNTRUSTED_LABEL.test(text)) return true;
  const policy = Object.hasOwn(policies, toolName) ? policies[toolName] : undefined;
  return untrusted !== "hide" && policy?.trusted === false;
}

/** The variables in a summary. Default: all. */
export interface SummaryOptions {
  /** Only the newest ones, up to this number. */
  readonly last?: number;
  /** Only variables with these names. */
  readonly names?: readonly string[];
}

/**
 * Summarizes variables as Markdown for a prompt: type, items, description, time and preview of each, oldest
 * first. Of a sealed variable it shows what a handle shows. An agent with `policies` needs `listingVariables`
 * instead, which also notes that untrusted data was shown.
 */
export function summaryOf(store: VariableStore, { last, names }: SummaryOptions = {}): string {
  const listed = store.list(json.compact({ last, names })).map(shownOf);
  return summaries.summaryOf(listed, last);
}

function shownOf(info: VariableInfo): summaries.Summarized {
  const guarded = toolOutputs.guardedView(info);
  if (guarded === undefined) return info;
  const { name, tool, createdAt } = info;
  const { type, count } = guarded;
  return { name, createdAt, ...json.compact({ tool, type, count }) };
}
