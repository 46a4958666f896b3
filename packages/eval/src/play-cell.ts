import type { Arm, ArmName, Conversation, Steps } from "./arms.ts";
import { type Family, recordingTools, type Task, type Verdict } from "./task.ts";
import { APICallError, type LanguageModelV4 } from "@ai-sdk/provider";
import { RetryError } from "ai";
import { messageOf } from "../../../src/errors.ts";
import { lookupInStore } from "../../../src/internal-tool.ts";
import { wrapModel, costOf, Meter, meterModel, type MeterOptions, RunStopped } from "./models.ts";
import { scriptedModel } from "../../testing/src/testing/scripted-model.ts";
import { type Lookup, referencesIn } from "../../../src/references.ts";
import { json } from "../../../src/internal.ts";

/** How a cell ended. Only `answered` cells can be right. */
type Ending =
  | "answered"
  /** The model called tools until the limit of steps. */
  | "too many steps"
  /** The provider refused a request. */
  | "refused";

/** Measurements of one task on one arm: a line in the file of finished cells. */
export interface Cell {
  readonly task: string;
  readonly family: Family;
  readonly arm: ArmName;
  readonly ending: Ending;
  readonly isRight: boolean;
  readonly why?: string;
  /** True if the data arrived unchanged. Absent if the task does not require it. */
  readonly isIntact?: boolean;
  /** Characters of data that the model copied, and how many of them are wrong. */
  readonly copied?: { readonly chars: number; readonly errors: number };
  /** References in inputs of the task's tools. */
  readonly references: { readonly written: number; readonly wrong: number };
  /** True if the model wrote a reference. Absent for arms without references. */
  readonly usedReferences?: boolean;
  /** Model calls from the first failed call to one of the same tool that worked. Absent: nothing failed. */
  readonly recoverySteps?: number;
  /** False if a call failed and none of the same tool worked later. */
  readonly recovered?: boolean;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  /** Dollars. */
  readonly cost: number;
  readonly calls: number;
  readonly seconds: number;
}

export function keyOf({ task, arm }: Pick<Cell, "task" | "arm">): string {
  return `${task} | ${arm}`;
}

const MAX_STEPS = 30;

interface PlayOptions extends Omit<MeterOptions, "meter"> {
  readonly model: LanguageModelV4;
}

/** Plays a task on an arm. Throws `RunStopped` if the run cannot go on. */
export async function playCell(task: Task, arm: Arm, options: PlayOptions): Promise<Cell> {
  const { tools, received } = recordingTools(task.tools);
  const conversation = arm.open(tools);
  const meter = new Meter();
  const played = await play(task, conversation, { ...options, meter });
  const { store, readers } = conversation;
  const lookup =
    store === undefined || task.family === "distractors" ? undefined : lookupInStore(store);
  const measured = await measureCalls(played.steps.slice(task.script?.length), readers, lookup);
  const recovery = recoveryIn(callsIn(played.steps, lookup !== undefined));
  return {
    task: task.id,
    family: task.family,
    arm: arm.name,
    ...judged(played, task.check(received), measured.usedReferences === true),
    ...measured,
    ...recovery,
    ...meter,
    cost: costOf(meter, options.budget.price),
  };
}

interface Played {
  readonly ending: Ending;
  readonly why?: string;
  readonly steps: Steps;
}

async function play(
  { question: prompt, script = [] }: Task,
  conversation: Conversation,
  options: PlayOptions & { readonly meter: Meter },
): Promise<Played> {
  const maxSteps = MAX_STEPS + script.length;
  const lead = scriptedModel(script);
  try {
    const steps = await conversation.play({
      // The first calls follow the script.
      model: wrapModel(meterModel(options.model, options), ({ doGenerate, params }) =>
        lead.calls.length < script.length ? lead.doGenerate(params) : doGenerate(),
      ),
      prompt,
      maxSteps,
    });
    const isOver = steps.length >= maxSteps && steps.at(-1)?.finishReason === "tool-calls";
    return { ending: isOver ? "too many steps" : "answered", steps };
  } catch (error) {
    return { ...failure(error), steps: [] };
  }
}

/** Statuses of a request that the provider will never accept, and of an answer that cannot be read. */
const REFUSED = new Set([200, 400, 413, 422]);

function failure(failed: unknown): Pick<Played, "ending" | "why"> {
  const error = RetryError.isInstance(failed) ? failed.lastError : failed;
  if (APICallError.isInstance(error) && REFUSED.has(error.statusCode ?? 0)) {
    return { ending: "refused", why: messageOf(error).slice(0, 200) };
  }
  if (error instanceof RunStopped) throw error;
  throw new RunStopped(`The model cannot be called: ${messageOf(error)}`);
}

function judged(
  { ending, why }: Played,
  verdict: Verdict,
  usedReferences: boolean,
): Pick<Cell, "ending" | "isRight" | "why" | "isIntact" | "copied"> {
  const isRight = ending === "answered" && verdict.isRight;
  const reason = isRight ? undefined : (why ?? (ending === "answered" ? verdict.why : ending));
  const { expected, received, isIntact } = verdict;
  return {
    ending,
    isRight,
    ...(reason === undefined ? {} : { why: reason }),
    ...(isIntact === undefined ? {} : { isIntact: isIntact && ending === "answered" }),
    ...copiedBy({ expected, received }, usedReferences),
  };
}

/** A text with more wrong characters than this share is no copy: it is cut, or something else. */
const MAX_WRONG_SHARE = 0.05;

/** Counts the wrong characters of a copy of the same length. Data that was passed by reference was not copied. */
function copiedBy(
  { expected, received }: Pick<Verdict, "expected" | "received">,
  usedReferences: boolean,
): Pick<Cell, "copied"> {
  if (expected === undefined || usedReferences || expected.length !== received?.length) return {};
  const chars = expected.length;
  let errors = 0;
  for (let index = 0; index < chars; index++) if (expected[index] !== received[index]) errors++;
  return errors > Math.ceil(chars * MAX_WRONG_SHARE) ? {} : { copied: { chars, errors } };
}

interface MadeCall {
  readonly tool: string;
  readonly input: unknown;
  /** The number of the model call that made it. */
  readonly step: number;
  readonly wrong: number;
  readonly isFailed: boolean;
}

/**
 * Counts the references that a model wrote. `readers`: tools whose inputs are no data of the task; `lookup` finds the
 * variables of the conversation, undefined in arms without references.
 */
async function measureCalls(
  steps: Steps,
  readers: readonly string[],
  lookup: Lookup | undefined,
): Promise<Pick<Cell, "references" | "usedReferences">> {
  if (lookup === undefined) return { references: { written: 0, wrong: 0 } };
  let written = 0;
  let wrong = 0;
  for (const call of callsIn(steps, true)) {
    wrong += call.wrong;
    written += call.wrong;
    if (!readers.includes(call.tool)) written += await referencesOf(call.input, lookup);
  }
  return { references: { written, wrong }, usedReferences: written > 0 };
}

const WRONG_CODES = /\b(?:variable_not_found|variable_evicted|path_not_found)\b|is not a variable/u;

/** Without `readsNotes`, texts that look like references are none. */
function callsIn(steps: Steps, readsNotes: boolean): readonly MadeCall[] {
  return steps.flatMap(({ toolCalls, toolResults, content }, step) =>
    toolCalls.map(({ toolName: tool, input, toolCallId }) => {
      const failed = content.find(
        (part) => part.type === "tool-error" && part.toolCallId === toolCallId,
      );
      if (failed?.type === "tool-error") {
        const text = messageOf(failed.error);
        // A call that is denied is not to be made again.
        const isFailed = !text.includes("tool_denied: ");
        return { tool, input, step, wrong: WRONG_CODES.test(text) ? 1 : 0, isFailed };
      }
      const output: unknown = toolResults.find((one) => one.toolCallId === toolCallId)?.output;
      const hasNotes = readsNotes && json.isObject(output) && Array.isArray(output.unresolved);
      const wrong = hasNotes ? (output.unresolved as readonly unknown[]).length : 0;
      return { tool, input, step, wrong, isFailed: wrong > 0 };
    }),
  );
}

async function referencesOf(value: unknown, lookup: Lookup): Promise<number> {
  if (typeof value === "string") return (await referencesIn(value, lookup)).length;
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  for (const inner of Object.values(value)) count += await referencesOf(inner, lookup);
  return count;
}

function recoveryIn(calls: readonly MadeCall[]): Pick<Cell, "recoverySteps" | "recovered"> {
  const failed = calls.find(({ isFailed }) => isFailed);
  if (failed === undefined) return {};
  const worked = calls.find(
    ({ tool, step, isFailed }) => tool === failed.tool && step > failed.step && !isFailed,
  );
  if (worked === undefined) return { recovered: false };
  return { recovered: true, recoverySteps: worked.step - failed.step };
}
