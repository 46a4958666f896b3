import * as limits from "../../limits.ts";
import type { Plan, PlanOutput } from "../../plan/plan.ts";
import { nameInRun } from "../../plan/run-names.ts";
import type { VariableStore } from "../../store/variable-store.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { isJsonObject, type Json } from "../../value/json.ts";
import { byteLength } from "../../value/utf8.ts";

const STATE: PlanOutput = { name: "state", mode: "merge" };

/** A variable of a run that its result is made of. */
export interface ResultPart {
  readonly output: PlanOutput;
  /** The run's own. */
  readonly info: VariableInfo;
  /** Undefined for what is too much, or a secret: a handle stands for it. */
  readonly shown: Json | undefined;
}

interface ResultOptions {
  readonly plan: Plan;
  readonly run: string;
  /** Default: `maxPlanBytes`. */
  readonly mostBytes?: number;
}

/** What a run has written of its state and its outputs. All that is shown is at most `mostBytes`. */
export async function resultParts(
  store: VariableStore,
  { plan, run, mostBytes = limits.maxPlanBytes }: ResultOptions,
): Promise<readonly ResultPart[]> {
  // A state is merged, whatever else names it.
  const outputs = [STATE, ...plan.outputs.filter(({ name }) => name !== STATE.name)];
  const parts: ResultPart[] = [];
  let room = mostBytes;
  for (const output of outputs) {
    const info = store.info(nameInRun(run, output.name, plan.runNames));
    if (info === undefined) continue;
    const value = isShowable(info, room) ? await store.read(info.name) : undefined;
    const written = value === undefined ? 0 : byteLength(JSON.stringify(value));
    const shown = written > room ? undefined : value;
    if (shown !== undefined) room -= written;
    parts.push({ output, info, shown });
  }
  return parts;
}

/**
 * What a run came to: its state, and beside what is in that, its outputs. One whose name is a key of the
 * state is shown under `variable:name`; a state that is no object is under `state` then.
 */
export function resultOf(
  parts: readonly ResultPart[],
  nameOf: (part: ResultPart) => string = ({ info }) => info.name,
): Json {
  const valueOf = (part: ResultPart) => part.shown ?? { $var: nameOf(part) };
  const state = parts.find(({ output }) => output === STATE);
  const outputs = parts.filter((part) => part !== state);
  const own = state === undefined ? {} : valueOf(state);
  if (outputs.length === 0) return own;
  const isHandle = state !== undefined && state.shown === undefined;
  const entries = new Map<string, Json>(
    isJsonObject(own) && !isHandle ? Object.entries(own) : [[STATE.name, own]],
  );
  for (const part of outputs) {
    const { name } = part.output;
    entries.set(entries.has(name) ? `variable:${name}` : name, valueOf(part));
  }
  return Object.fromEntries(entries);
}

function isShowable({ visibility, type, bytes }: VariableInfo, room: number): boolean {
  return visibility !== "secret" && type !== "bytes" && bytes <= room;
}
