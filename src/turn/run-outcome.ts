import { codeOf, messageOf } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Plan, PlanOutput } from "../plan/plan.ts";
import { isOpenRun, nameInRun, type RunRecord } from "../plan/run-record.ts";
import type { PreparedWrite, VariableInfo, VariableStore } from "../store/variable-store.ts";
import type { Json } from "../value/json.ts";

export interface OutcomeOptions {
  readonly store: VariableStore;
  readonly plan: Plan;
  readonly record: RunRecord;
}

const STATE: PlanOutput = { name: "state", mode: "merge" };

/** What a run came to, made ready to be handed on to the conversation. */
export class RunOutcome {
  /** As it is kept: with a word on what could not be handed on. */
  readonly record: RunRecord;
  /** The run's state; a handle where it is too much, or a secret. */
  readonly state: Json;
  readonly #store: VariableStore;
  readonly #writes: readonly PreparedWrite[];

  /** A run that waits hands on nothing yet. */
  static async prepare({ store, plan, record }: OutcomeOptions): Promise<RunOutcome> {
    const isOver = !isOpenRun(record);
    const isHandedOn = isOver && record.keep && record.status !== "cancelled";
    const stateName = nameInRun(record.id, STATE.name, []);
    const isShown = isShowable(store.info(stateName));
    const writes: PreparedWrite[] = [];
    const errors: string[] = [];
    for (const output of isHandedOn ? [STATE, ...plan.outputs] : []) {
      const from = nameInRun(record.id, output.name, plan.runNames);
      try {
        writes.push(...(await writeOf(store, from, output)));
      } catch (error) {
        errors.push(`${output.name} was not kept: ${messageOf(error)}`);
      }
    }
    // It is the run's result all the same, and stays under its own name.
    if (isOver && !isHandedOn && !isShown) {
      writes.push(...(await writeOf(store, stateName, { name: stateName, mode: "replace" })));
    }
    const handle = { $var: isHandedOn ? STATE.name : stateName };
    const state = isShown ? ((await store.read(stateName)) ?? {}) : handle;
    const error = [record.error ?? [], errors].flat().join(" ");
    const told = error === "" ? record : { ...record, error };
    return new RunOutcome({ store, record: told, state, writes });
  }

  private constructor({ store, record, state, writes }: Made) {
    this.#store = store;
    this.record = record;
    this.state = state;
    this.#writes = writes;
  }

  /** All of it, or it throws; to be called in a transaction. The run's own variables end. */
  commit(): void {
    for (const write of this.#writes) write.commit();
    if (!isOpenRun(this.record)) this.#store.endRun(this.record.id);
  }

  discard(): void {
    for (const write of this.#writes) write.discard();
  }
}

interface Made {
  readonly store: VariableStore;
  readonly record: RunRecord;
  readonly state: Json;
  readonly writes: readonly PreparedWrite[];
}

function isShowable(info: VariableInfo | undefined): boolean {
  if (info === undefined) return true;
  const { visibility, type, bytes } = info;
  return visibility !== "secret" && type !== "bytes" && bytes <= limits.maxPlanBytes;
}

/** None if the run has not written it. */
async function writeOf(
  store: VariableStore,
  from: string,
  { name, mode }: PlanOutput,
): Promise<readonly PreparedWrite[]> {
  const info = store.info(from);
  if (info === undefined) return [];
  const value = (await store.read(from)) ?? null;
  const { visibility, sources, trusted } = info;
  const guard = visibility === "model" ? {} : { visibility };
  const added = mode === "append" ? withBreak(store, name, value) : value;
  const write = { name, value: added, mode, sources, trusted, ...guard };
  try {
    return [await store.prepare(write)];
  } catch (error) {
    // What is there is something else, say a text: nothing of it is lost.
    if (codeOf(error) !== "bad_value") throw error;
    return [await store.prepare({ ...write, mode: "new" })];
  }
}

/** Text below text is a paragraph of its own. */
function withBreak(store: VariableStore, name: string, value: Json): Json {
  const there = store.info(name);
  const isBelow = there?.type === "string" && there.count > 0 && typeof value === "string";
  return isBelow ? `\n\n${value}` : value;
}
