import type { ModelMessage, PrepareStepFunction, ToolSet } from "ai";
import type { VariableStore } from "../store/variable-store.ts";
import { Taint } from "../store/labels.ts";
import type { ToolPolicy } from "../tool/policy.ts";
import { withVariables } from "../turn/history/prompt.ts";
import { type InstructionStyle, withGuide } from "./guide.ts";
import { showsUntrusted } from "./untrusted-history.ts";

/** Whose variables are listed, and how. */
export interface ListingOptions<
  Tools extends ToolSet = ToolSet,
  Context extends Record<string, unknown> = Record<string, unknown>,
> {
  readonly store: VariableStore;
  /** Also prepares each step; it does not see the lists. */
  readonly prepareStep?: PrepareStepFunction<Tools, Context> | undefined;
  readonly instructionStyle?: InstructionStyle;
  /** Becomes tainted when the messages or the list show untrusted data; see `WrapOptions`. */
  readonly taint?: Taint;
  readonly untrusted?: "show" | "hide";
  /** Says which tools' results in the messages are untrusted; see `WrapOptions`. */
  readonly policies?: Readonly<Record<string, ToolPolicy>>;
}

/** A `prepareStep` that shows each step the variables as they are then. */
export function listingVariables<
  Tools extends ToolSet = ToolSet,
  Context extends Record<string, unknown> = Record<string, unknown>,
>(options: ListingOptions<Tools, Context>): PrepareStepFunction<Tools, Context> {
  const { store, prepareStep, instructionStyle, taint = new Taint(), untrusted } = options;
  const surroundings = { store, taint, hidesUntrusted: untrusted === "hide" };
  // The SDK carries the messages of a step over to the next: each list is to be seen once.
  const lists = new WeakSet<ModelMessage>();
  return async (step) => {
    const own = step.messages.filter((message) => !lists.has(message));
    if (step.stepNumber === 0 && showsUntrusted(own, options)) taint.add();
    const prepared = await prepareStep?.({ ...step, messages: own });
    const messages = prepared?.messages ?? own;
    const listed = withVariables(messages, surroundings);
    const list = listed.length > messages.length ? listed.at(-1) : undefined;
    if (list !== undefined) lists.add(list);
    const instructions = prepared?.instructions ?? prepared?.system;
    return {
      ...prepared,
      messages: listed,
      ...(instructions === undefined
        ? {}
        : { instructions: withGuide(instructions, instructionStyle) ?? instructions }),
    };
  };
}
