import type { Arm, Conversation, Steps } from "./arms.ts";
import { type Family, recordingTools, type Task, type Verdict } from "./task.ts";
import { APICallError, type LanguageModelV4 } from "@ai-sdk/provider";
import { RetryError } from "ai";
import { messageOf } from "../../../src/errors.ts";
import { lookupInStore } from "../../../src/internal-tool.ts";
import { costOf, Meter, meterModel, type MeterOptions, RunStopped } from "./models.ts";
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
  readonly arm: string;
  readonly ending: Ending;
  readonly isRight: boolean;
  readonly why?: string;
  /** True if the data arrived unchanged. Absent if the task does not require it. */
  readonly isIntact?: boolean;
  /** References in inputs of the task's tools. */
  readonly references: { readonly written: number; readonly wrong: number };
  /** True if the model wrote a reference. Absent for arms without references. */
  readonly usedReferences?: boolean;
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
  const measured = await measureCalls(played.steps, readers, lookup);
  return {
    task: task.id,
    family: task.family,
    arm: arm.name,
    ...judged(played, task.check(received)),
    ...measured,
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
  { question: prompt }: Task,
  conversation: Conversation,
  options: PlayOptions & { readonly meter: Meter },
): Promise<Played> {
  const model = meterModel(options.model, options);
  try {
    const steps = await conversation.play({ model, prompt, maxSteps: MAX_STEPS });
    const isOver = steps.length >= MAX_STEPS && steps.at(-1)?.finishReason === "tool-calls";
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
): Pick<Cell, "ending" | "isRight" | "why" | "isIntact"> {
  const isRight = ending === "answered" && verdict.isRight;
  const reason = isRight ? undefined : (why ?? (ending === "answered" ? verdict.why : ending));
  const { isIntact } = verdict;
  return {
    ending,
    isRight,
    ...(reason === undefined ? {} : { why: reason }),
    ...(isIntact === undefined ? {} : { isIntact: isIntact && ending === "answered" }),
  };
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
  for (const { toolCalls, content } of steps) {
    for (const { toolName, input, toolCallId } of toolCalls) {
      wrong += wrongIn(content.find((part) => isAnswerTo(part, toolCallId)));
      if (!readers.includes(toolName)) written += await referencesOf(input, lookup);
    }
  }
  written += wrong;
  return { references: { written, wrong }, usedReferences: written > 0 };
}

type Part = Steps[number]["content"][number];

function isAnswerTo(part: Part, toolCallId: string): boolean {
  const isAnswer = part.type === "tool-error" || part.type === "tool-result";
  return isAnswer && part.toolCallId === toolCallId;
}

const WRONG_CODES = /\b(?:variable_not_found|variable_evicted|path_not_found)\b|is not a variable/u;

/** The references of a call that its answer says are wrong. */
function wrongIn(answer: Part | undefined): number {
  if (answer?.type === "tool-error") return Number(WRONG_CODES.test(messageOf(answer.error)));
  const output: unknown = answer?.type === "tool-result" ? answer.output : undefined;
  return json.isObject(output) && Array.isArray(output.unresolved) ? output.unresolved.length : 0;
}

async function referencesOf(value: unknown, lookup: Lookup): Promise<number> {
  if (typeof value === "string") return (await referencesIn(value, lookup)).length;
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  for (const inner of Object.values(value)) count += await referencesOf(inner, lookup);
  return count;
}
