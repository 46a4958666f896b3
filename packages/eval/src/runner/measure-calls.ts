import type { ModelMessage } from "ai";
import { type Lookup, referencesIn } from "../../../../src/references.ts";
import { json } from "../../../../src/internal.ts";
import type { Cell } from "./cell.ts";

/** A call of the model, with what it read as its result. */
interface MadeCall {
  readonly tool: string;
  readonly input: unknown;
  /** The number of the model call that made it. */
  readonly step: number;
  readonly isScripted: boolean;
  readonly wrong: number;
  readonly isFailed: boolean;
}

export interface MeasureOptions {
  /** Finds the variables of the conversation. Absent in arms without references. */
  readonly lookup?: Lookup;
  /** Tools whose inputs are no data of the task. */
  readonly readers: readonly string[];
  /** Model calls at the start that a script made. */
  readonly scripted: number;
}

/** Counts references and recoveries in the messages of a turn. */
export async function measureCalls(
  messages: readonly ModelMessage[],
  { lookup, readers, scripted }: MeasureOptions,
): Promise<Pick<Cell, "references" | "usedReferences" | "recoverySteps" | "recovered">> {
  const calls = callsIn(messages, { scripted, readsNotes: lookup !== undefined });
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

interface Reading {
  readonly scripted: number;
  /** False: texts that look like references are none. */
  readonly readsNotes: boolean;
}

function callsIn(
  messages: readonly ModelMessage[],
  { scripted, readsNotes }: Reading,
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
            const isScripted = step < scripted;
            return [
              { tool, input, step, isScripted, ...judged(results.get(toolCallId), readsNotes) },
            ];
          }),
    );
}

const WRONG_CODES = /\b(?:variable_not_found|variable_evicted|path_not_found)\b|is not a variable/u;

/** Reads a result as the model does. */
function judged(output: unknown, readsNotes: boolean): Pick<MadeCall, "wrong" | "isFailed"> {
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
