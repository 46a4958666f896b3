import { APICallError, type LanguageModelV4 } from "@ai-sdk/provider";
import { type ModelMessage, RetryError } from "ai";
import { messageOf } from "../../../../src/errors.ts";
import { lookupInStore } from "../../../../src/internal-tool.ts";
import type { Arm, Conversation } from "../arms/arm.ts";
import { RunStopped } from "../models/budget.ts";
import { DoesNotFit, metered, Meter, type MeterOptions } from "../models/metered.ts";
import { costOf, type Price } from "../models/prices.ts";
import { type ScriptedCall, scriptedModel } from "../../../testing/src/testing/scripted-model.ts";
import { recordingTools, type Task, type Verdict } from "../tasks/task.ts";
import type { Cell, Ending } from "./cell.ts";
import { measureCalls } from "./measure-calls.ts";

/** Model calls of one turn. */
const MAX_STEPS = 30;

export interface PlayOptions extends Omit<MeterOptions, "meter"> {
  readonly model: LanguageModelV4;
  readonly price?: Price | undefined;
}

/** Plays a task on an arm. Throws `RunStopped` if the run cannot go on. */
export async function playCell(task: Task, arm: Arm, options: PlayOptions): Promise<Cell> {
  const { tools, received } = recordingTools(task.tools);
  const conversation = arm.open(tools);
  const meter = new Meter();
  const played = await play(task, conversation, { ...options, meter });
  const { store, readers } = conversation;
  const calls = await measureCalls(played.messages, {
    ...(store === undefined || task.family === "distractors"
      ? {}
      : { lookup: lookupInStore(store) }),
    readers,
    scripted: task.script?.length ?? 0,
  });
  const { input, cached, output } = meter;
  const cost = options.price === undefined ? {} : { cost: costOf(meter, options.price) };
  return {
    task: task.id,
    family: task.family,
    arm: arm.name,
    ...judged(played, task.check(received), calls.usedReferences === true),
    ...calls,
    input,
    cached,
    output,
    ...cost,
    calls: meter.calls,
    seconds: meter.seconds,
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
  try {
    const messages = await conversation.play({
      model: scriptedLead(script, metered(options.model, options)),
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

/** Returns a model whose first calls follow a script, and all others are those of `model`. */
function scriptedLead(
  script: readonly (string | ScriptedCall)[],
  model: LanguageModelV4,
): LanguageModelV4 {
  const lead = scriptedModel(script);
  const next = () => (lead.calls.length < script.length ? lead : model);
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => next().doGenerate(options),
    doStream: (options) => next().doStream(options),
  };
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
