import type { Arm, ArmName, Conversation } from "./arms.ts";
import { type Family, recordingTools, type Task, type Verdict } from "./task.ts";
import { APICallError, type LanguageModelV4 } from "@ai-sdk/provider";
import { type ModelMessage, RetryError } from "ai";
import { messageOf } from "../../../src/errors.ts";
import { lookupInStore } from "../../../src/internal-tool.ts";
import {
  wrapModel,
  costOf,
  DoesNotFit,
  Meter,
  meterModel,
  type MeterOptions,
  RunStopped,
} from "./models.ts";
import { scriptedModel } from "../../testing/src/testing/scripted-model.ts";
import { type Lookup, referencesIn } from "../../../src/references.ts";
import { json } from "../../../src/internal.ts";

/** How a cell ended. Only `answered` cells can be right. */
type Ending =
  | "answered"
  /** The model called tools until the limit of steps. */
  | "too many steps"
  /** A prompt was larger than the model's context. */
  | "did not fit"
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
  const calls = callsIn(played.messages, task.script?.length ?? 0, lookup !== undefined);
  const measured = await measureCalls(calls, readers, lookup);
  return {
    task: task.id,
    family: task.family,
    arm: arm.name,
    ...judged(played, task.check(received), measured.usedReferences === true),
    ...measured,
    ...meter,
    cost: costOf(meter, options.budget.price),
  };
}

interface Played {
  readonly ending: Ending;
  readonly why?: string;
  readonly messages: readonly ModelMessage[];
}

async function play(
  { question, script = [] }: Task,
  conversation: Conversation,
  options: PlayOptions & { readonly meter: Meter },
): Promise<Played> {
  const maxSteps = MAX_STEPS + script.length;
  const lead = scriptedModel(script);
  try {
    const messages = await conversation.play({
      // The first calls follow the script.
      model: wrapModel(meterModel(options.model, options), ({ doGenerate, params }) =>
        lead.calls.length < script.length ? lead.doGenerate(params) : doGenerate(),
      ),
      messages: [{ role: "user", content: question }],
      maxSteps,
    });
    const steps = messages.filter(({ role }) => role === "assistant").length;
    const isOver = steps >= maxSteps && messages.at(-1)?.role === "tool";
    return { ending: isOver ? "too many steps" : "answered", messages };
  } catch (error) {
    return { ...failure(error), messages: [] };
  }
}

/** Statuses of a request that the provider will never accept, and of an answer that cannot be read. */
const REFUSED = new Set([200, 400, 413, 422]);

function failure(failed: unknown): Pick<Played, "ending" | "why"> {
  const error = RetryError.isInstance(failed) ? failed.lastError : failed;
  if (error instanceof DoesNotFit) return { ending: "did not fit", why: error.message };
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
  readonly isScripted: boolean;
  readonly wrong: number;
  readonly isFailed: boolean;
}

/**
 * Counts references and recoveries. `readers`: tools whose inputs are no data of the task; `lookup` finds the variables
 * of the conversation, undefined in arms without references.
 */
async function measureCalls(
  calls: readonly MadeCall[],
  readers: readonly string[],
  lookup: Lookup | undefined,
): Promise<Pick<Cell, "references" | "usedReferences" | "recoverySteps" | "recovered">> {
  let written = 0;
  let wrong = 0;
  for (const call of calls) {
    if (call.isScripted || lookup === undefined) continue;
    wrong += call.wrong;
    written += call.wrong;
    if (!readers.includes(call.tool)) written += await referencesOf(call.input, lookup);
  }
  const used = lookup === undefined ? {} : { usedReferences: written > 0 };
  return { references: { written, wrong }, ...used, ...recoveryIn(calls) };
}

/** `scripted`: model calls at the start that a script made. Without `readsNotes`, texts that look like references are none. */
function callsIn(
  messages: readonly ModelMessage[],
  scripted: number,
  readsNotes: boolean,
): readonly MadeCall[] {
  const results = new Map<string, unknown>();
  for (const { role, content } of messages) {
    if (role !== "tool") continue;
    for (const part of content) {
      if (part.type === "tool-result") results.set(part.toolCallId, part.output);
    }
  }
  return messages
    .filter(({ role }) => role === "assistant")
    .flatMap(({ content }, step) =>
      typeof content === "string"
        ? []
        : content.flatMap((part) => {
            if (part.type !== "tool-call") return [];
            const { toolName: tool, input, toolCallId } = part;
            const judged = judgedResult(results.get(toolCallId), readsNotes);
            return [{ tool, input, step, isScripted: step < scripted, ...judged }];
          }),
    );
}

const WRONG_CODES = /\b(?:variable_not_found|variable_evicted|path_not_found)\b|is not a variable/u;

/** Reads a result as the model does. */
function judgedResult(output: unknown, readsNotes: boolean): Pick<MadeCall, "wrong" | "isFailed"> {
  if (!json.isObject(output)) return { wrong: 0, isFailed: false };
  const { type, value } = output;
  if (type === "error-text" || type === "error-json") {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    // A call that is denied is not to be made again.
    return { wrong: WRONG_CODES.test(text) ? 1 : 0, isFailed: !text.includes("tool_denied: ") };
  }
  const notes =
    readsNotes && json.isObject(value) && Array.isArray(value.unresolved)
      ? value.unresolved.length
      : 0;
  return { wrong: notes, isFailed: notes > 0 };
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
