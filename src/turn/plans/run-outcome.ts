import { codeOf, type ErrorCode, messageOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { Plan, PlanOutput } from "../../plan/plan.ts";
import { nameInRun } from "../../plan/run-names.ts";
import { isOpenRun, type RunRecord } from "../../plan/plan-record.ts";
import type { Content } from "../../store/bytes/content.ts";
import type { PreparedWrite, VariableStore } from "../../store/variable-store.ts";
import { flagged } from "../../store/labels.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { isJsonObject, type Json } from "../../value/json.ts";
import { byteLength } from "../../value/utf8.ts";

interface OutcomeOptions {
  readonly store: VariableStore;
  readonly plan: Plan;
  readonly record: RunRecord;
}

/** What trying again does not help against. */
const PERMANENT = new Set<ErrorCode>(["limit_exceeded", "bad_value", "bad_name", "bad_path"]);

/** What a run came to, made ready to be handed on to the conversation. */
export class RunOutcome {
  /** As it is kept: with a word on what could not be handed on. */
  readonly record: RunRecord;
  readonly #store: VariableStore;
  readonly #endings: readonly Ending[];
  readonly #names = new Map<ResultPart, string>();

  /**
   * A run that waits hands on nothing yet. What the conversation cannot take stays under the run's own
   * name; rejects with what may be over the next time, a bucket that does not answer for example.
   */
  static async prepare({ store, plan, record }: OutcomeOptions): Promise<RunOutcome> {
    const endings: Ending[] = [];
    try {
      for (const part of await resultParts(store, { plan, run: record.id })) {
        endings.push(await endingOf(store, part, record));
      }
    } catch (error) {
      for (const { write } of endings) write?.discard();
      throw error;
    }
    return new RunOutcome(store, record, endings);
  }

  private constructor(store: VariableStore, record: RunRecord, endings: readonly Ending[]) {
    this.#store = store;
    this.#endings = endings;
    const problems = endings.flatMap(({ problem }) => problem ?? []);
    const error = [record.error ?? [], problems].flat().join(" ");
    this.record = error === "" ? record : { ...record, error };
  }

  /** The run's state and outputs; handles of what is too much, or a secret: as it is called once committed. */
  get state(): Json {
    const parts = this.#endings.map(({ part }) => part);
    return resultOf(parts, (part) => this.#names.get(part) ?? part.info.name);
  }

  /** All of it, or it throws; to be called in a transaction. The run's own variables end. */
  commit(): void {
    // What it leaves behind has room where its own variables were.
    if (!isOpenRun(this.record)) this.#store.endRun(this.record.id);
    for (const { part, write } of this.#endings) {
      if (write !== undefined) this.#names.set(part, write.commit().name);
    }
  }

  discard(): void {
    for (const { write } of this.#endings) write?.discard();
  }
}

/** The conversation may change while the end is made ready. */
const MAX_TRIES = 3;

/** Makes the outcome ready and has it committed, by `commit` in a transaction; again on `conflict`. */
export async function commitOutcome(
  options: OutcomeOptions,
  commit: (outcome: RunOutcome) => void,
): Promise<void> {
  const { store } = options;
  for (let tries = 1; ; tries++) {
    const outcome = await RunOutcome.prepare(options);
    try {
      return commit(outcome);
    } catch (error) {
      store.forget();
      outcome.discard();
      if (codeOf(error) !== "conflict" || tries === MAX_TRIES) throw error;
    }
  }
}

/** What becomes of a part when the run is over. */
interface Ending {
  readonly part: ResultPart;
  readonly write?: PreparedWrite;
  /** Why the conversation's own variable does not have it. */
  readonly problem?: string;
}

async function endingOf(
  store: VariableStore,
  part: ResultPart,
  record: RunRecord,
): Promise<Ending> {
  if (isOpenRun(record)) return { part };
  if (!record.keep || record.status === "cancelled") {
    // It is the run's result all the same.
    return part.shown === undefined ? { part, write: await kept(store, part) } : { part };
  }
  try {
    return { part, write: await handedOn(store, part) };
  } catch (error) {
    if (!PERMANENT.has(codeOf(error))) throw error;
    const { output, info } = part;
    const problem = `${output.name} was kept as ${info.name}: ${messageOf(error)}`;
    return { part, write: await kept(store, part), problem };
  }
}

async function handedOn(
  store: VariableStore,
  { output: { name, mode }, info, shown }: ResultPart,
): Promise<PreparedWrite> {
  const value = shown ?? (await store.read(info.name)) ?? null;
  const added = mode === "append" ? withBreak(store, name, value) : value;
  const write = { ...labelsOf(info), name, value: added, mode };
  try {
    return await store.prepare(write);
  } catch (error) {
    // What is there is something else, say a text: nothing of it is lost.
    if (codeOf(error) !== "bad_value") throw error;
    return store.prepare({ ...write, mode: "new" });
  }
}

/** The run's variable as the conversation's, under the name that it has. */
async function kept(store: VariableStore, { info }: ResultPart): Promise<PreparedWrite> {
  const value = (await copyOf(store, info.name)) ?? null;
  return store.prepare({ ...labelsOf(info), name: info.name, value, mode: "replace" });
}

function labelsOf({ visibility, sources, trusted, flags }: ResultPart["info"]) {
  return { sources, trusted, ...flagged(flags), ...(visibility === "model" ? {} : { visibility }) };
}

/** Piece by piece: it may be more than fits into memory. */
async function copyOf(store: VariableStore, name: string): Promise<Content | undefined> {
  const open = store.open(name);
  if (open === undefined) return undefined;
  const { bytes, mediaType } = open.info;
  let from = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const to = Math.min(from + limits.maxChunkBytes, bytes);
      if (from < to) controller.enqueue(await open.read(from, to));
      else controller.close();
      from = to;
    },
  });
  try {
    return await store.receive(stream, mediaType);
  } finally {
    open.close();
  }
}

/** Text below text is a paragraph of its own. */
function withBreak(store: VariableStore, name: string, value: Json): Json {
  const there = store.info(name);
  const isBelow = there?.type === "string" && there.count > 0 && typeof value === "string";
  return isBelow ? `\n\n${value}` : value;
}

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
