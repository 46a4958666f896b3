import { APICallError, type LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelMessage } from "ai";
import { messageOf } from "../../../../src/errors.ts";
import { lookupInStore } from "../../../../src/tool/store-lookup.ts";
import type { Arm, Conversation } from "../arms/arm.ts";
import { DoesNotFit, metered, Meter, type MeterOptions } from "../models/metered.ts";
import { costOf, type Price } from "../models/prices.ts";
import { RunStopped } from "../models/run-stopped.ts";
import { scriptedLead } from "../models/scripted-lead.ts";
import type { Task, Verdict, World } from "../tasks/task.ts";
import type { Cell, Ending } from "./cell.ts";
import { copyErrors } from "./copy-errors.ts";
import { measureCalls } from "./measure-calls.ts";

/** Model calls of one turn. */
const MAX_STEPS = 30;

export interface PlayOptions extends Omit<MeterOptions, "meter"> {
  readonly model: LanguageModelV4;
  readonly price?: Price | undefined;
}

/** Plays a task on an arm. Throws `RunStopped` if the run cannot go on. */
export async function playCell(task: Task, arm: Arm, options: PlayOptions): Promise<Cell> {
  const world = task.open();
  const conversation = arm.open(world);
  const meter = new Meter();
  const played = await playTurns(task, conversation, { ...options, meter });
  const { store, readers } = conversation;
  const calls = await measureCalls(played.messages, {
    ...(store === undefined || task.family === "distractors" || task.family === "texts"
      ? {}
      : { lookup: lookupInStore(store) }),
    readers,
    scripted: played.scripted,
  });
  const { input, cached, output } = meter;
  const cost = options.price === undefined ? {} : { cost: costOf(meter, options.price) };
  return {
    task: task.id,
    family: task.family,
    size: task.size,
    arm: arm.name,
    ...judged(world, played, calls.usedReferences === true),
    ...calls,
    input,
    cached,
    output,
    ...cost,
    calls: meter.calls,
    seconds: meter.seconds,
    ...(meter.isEstimated ? { isEstimated: true } : {}),
  };
}

interface Played {
  readonly ending: Ending;
  readonly text: string;
  readonly why?: string;
  /** Messages of the last turn. */
  readonly messages: readonly ModelMessage[];
  /** Number of model calls made by a script. */
  readonly scripted: number;
}

async function playTurns(
  { turns }: Task,
  conversation: Conversation,
  options: PlayOptions & { readonly meter: Meter },
): Promise<Played> {
  const model = metered(options.model, options);
  const messages: ModelMessage[] = [];
  let last: Played = { ending: "answered", text: "", messages: [], scripted: 0 };
  for (const [turn, { user, script = [], isPlayed = true }] of turns.entries()) {
    messages.push({ role: "user", content: user });
    const scripted = script.length;
    const maxSteps = isPlayed ? MAX_STEPS + scripted : scripted;
    try {
      const result = await conversation.play({
        model: scriptedLead({ script, turn }, model),
        messages: [...messages],
        maxSteps,
      });
      messages.push(...result.messages);
      const steps = result.messages.filter(({ role }) => role === "assistant").length;
      const isOver = isPlayed && steps >= maxSteps && result.messages.at(-1)?.role === "tool";
      const ending: Ending = isOver ? "too many steps" : "answered";
      last = { ending, text: result.text, messages: result.messages, scripted };
    } catch (error) {
      return { ...failure(error), text: "", messages: [], scripted };
    }
  }
  return last;
}

/** Statuses of a request that the provider will never accept. */
const REFUSED = new Set([400, 413, 422]);

function failure(error: unknown): Pick<Played, "ending" | "why"> {
  if (error instanceof DoesNotFit) return { ending: "did not fit", why: error.message };
  if (APICallError.isInstance(error) && REFUSED.has(error.statusCode ?? 0)) {
    return { ending: "refused", why: messageOf(error).slice(0, 200) };
  }
  if (error instanceof RunStopped) throw error;
  throw new RunStopped(`The model cannot be called: ${messageOf(error)}`);
}

function judged(
  world: World,
  { ending, text, why }: Played,
  usedReferences: boolean,
): Pick<Cell, "ending" | "isRight" | "why" | "isIntact" | "copied"> {
  const verdict: Verdict = world.check(text);
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

/** Counts copied characters. Data that was passed by reference was not copied. */
function copiedBy(
  { expected, received }: Pick<Verdict, "expected" | "received">,
  usedReferences: boolean,
): Pick<Cell, "copied"> {
  if (expected === undefined || received === undefined || usedReferences) return {};
  const copied = copyErrors(expected, received);
  return copied === undefined ? {} : { copied };
}
