import * as limits from "../../../../src/limits.ts";
import { ByrefError, codeOf, type ErrorCode, messageOf } from "../../../../src/errors.ts";
import type { PlanStore } from "../plan/plan-store.ts";
import {
  nameInRun,
  type CallState,
  isOpenRun,
  type RunRecord,
  type RunResult,
} from "../plan/plan-record.ts";
import {
  encoding,
  flagged,
  json,
  retryConflicts,
  streamOf,
  type VariableStore,
  charsOf,
  type stores,
  type metadata,
  type contents,
} from "../../../../src/internal.ts";
import { type Plan, type PlanOutput, toolOutputs } from "../../../../src/internal-tool.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import type { Json } from "../../../../src/references.ts";

interface OutcomeOptions {
  readonly store: VariableStore;
  readonly plan: Plan;
  readonly record: RunRecord;
}

/** Errors that another try would not resolve. */
const PERMANENT = new Set<ErrorCode>(["limit_exceeded", "bad_value", "bad_name", "bad_path"]);

/** What a run has left. */
interface RunOutcome {
  /**
   * The record to store. Includes a note on results that the conversation could not accept, and the variables that a
   * failed run and templates have written.
   */
  readonly record: RunRecord;
  /** The run's state and outputs. Handles replace values that are too large or secret. */
  readonly state: Json;
  /** The same for the stream: handles replace its long and guarded parts. */
  readonly streamed: Json;
}

/**
 * Prepares the outcome. A waiting run passes on nothing yet. A result that the conversation cannot accept
 * stays under the run's own name. `commit` commits everything or throws: call it in a transaction. It ends the run's own
 * variables. Rejects with errors that may be temporary, for example a bucket that does not respond.
 */
export async function prepareOutcome({ store, plan, record: given }: OutcomeOptions) {
  const endings: Ending[] = [];
  const discard = () => {
    for (const { write } of endings) write?.discard();
  };
  try {
    const maxBytes = limits.maxRecordBytes;
    for (const part of await resultParts(store, { plan, run: given.id, maxBytes })) {
      endings.push(await endingOf(store, part, given));
    }
  } catch (error) {
    discard();
    throw error;
  }
  const problems = endings.flatMap(({ problem }) => problem ?? []);
  const error = [given.error ?? [], problems].flat().join(" ");
  const commit = (): RunOutcome => {
    // Ending the run frees the space of its own variables for the results.
    if (!isOpenRun(given)) store.endRun(given.id);
    const parts = endings.map(({ part, write }) => ({ ...part, written: write?.commit() }));
    const results = parts.flatMap(({ output, written }): readonly RunResult[] => {
      if (written === undefined) return [];
      const { name, version, updatedAt } = written;
      return [{ output: output.name, name, version, updatedAt }];
    });
    const { results: _, ...others } = error === "" ? given : { ...given, error };
    const isKept = others.status === "failed" && others.keep && problems.length === 0;
    const ended = isKept ? { ...others, results } : others;
    const record = plan.format === "template" ? withWritten(ended, results) : ended;
    const kept = parts.map((part) => {
      return { ...part, handle: { $var: (part.written ?? part.info).name } };
    });
    const streamed = parts.map(({ output, info, shown, written }) => {
      const most = limits.maxPieceChars;
      const isLong = shown === undefined || charsOf(shown, most) > most;
      const isHandle = isLong || info.visibility !== "model";
      const handle = handleOf(info, shown, written?.name);
      return { output, shown: isHandle ? undefined : shown, handle };
    });
    return { record, state: resultOf(kept), streamed: resultOf(streamed) };
  };
  return { commit, discard };
}

/** The record in which the outputs of a template's steps name the variables that were written. */
function withWritten(record: RunRecord, results: readonly RunResult[]): RunRecord {
  const named = (place: Json): Json => {
    const [, name = "", path = ""] = /^variable:(\w+)(.*)$/su.exec(String(place)) ?? [];
    const written = results.find(({ output }) => output === name);
    return written === undefined ? place : `variable:${written.name}${path}`;
  };
  const calls = Object.entries(record.calls).map(([id, state]): [string, CallState] => {
    const { output } = state;
    if (output === undefined || !json.isJsonObject(output)) return [id, state];
    const { written } = output;
    if (written === undefined || !json.isJsonArray(written)) return [id, state];
    return [id, { ...state, output: { ...output, written: written.map(named) } }];
  });
  return { ...record, calls: Object.fromEntries(calls) };
}

/** Calls `commit`, which stores the outcome in a transaction. Tries again on `conflict`. */
export async function commitOutcome(
  { plans, ...options }: OutcomeOptions & { readonly plans: PlanStore },
  commit: (store: () => Omit<RunOutcome, "state">) => void,
): Promise<void> {
  const { store } = options;
  return retryConflicts(store, async () => {
    const outcome = await prepareOutcome(options);
    try {
      return commit(() => {
        const { state, ...ended } = outcome.commit();
        plans.saveRun(ended.record);
        if (!isOpenRun(ended.record)) plans.saveState(ended.record.id, state);
        return ended;
      });
    } catch (error) {
      store.forget();
      outcome.discard();
      throw error;
    }
  });
}

/** The fate of a result when the run ends. */
interface Ending {
  readonly part: ResultPart;
  readonly write?: stores.PreparedWrite;
  /** Why the result is not in the conversation's own variable. */
  readonly problem?: string;
}

async function endingOf(
  store: VariableStore,
  part: ResultPart,
  record: RunRecord,
): Promise<Ending> {
  if (isOpenRun(record)) return { part };
  if (!record.keep || record.status === "cancelled") {
    // The value is still the run's result.
    return part.shown === undefined ? { part, write: await prepareCopy(store, part) } : { part };
  }
  try {
    return { part, write: await handedOn(store, part, record) };
  } catch (error) {
    if (!PERMANENT.has(codeOf(error))) throw error;
    const { output, info } = part;
    const problem = `${output.name} was kept as ${info.name}: ${messageOf(error)}`;
    return { part, write: await prepareCopy(store, part), problem };
  }
}

async function handedOn(
  store: VariableStore,
  { output: { name, mode }, info, shown }: ResultPart,
  { results = [] }: RunRecord,
): Promise<stores.PreparedWrite> {
  const value = shown ?? (await store.read(info.name)) ?? null;
  // A retry has begun with what the conversation had received.
  const before = results.find(({ output }) => output === name);
  const isAdded = mode === "append" && before === undefined;
  const write = {
    ...labelsOf(info),
    name: before?.name ?? name,
    value: isAdded ? withBreak(store, name, value) : value,
    mode: before === undefined || mode === "merge" ? mode : ("replace" as const),
  };
  try {
    return await store.prepare(write);
  } catch (error) {
    // The existing value has another type, for example text. It must not be lost.
    if (codeOf(error) !== "bad_value") throw error;
    return store.prepare({ ...write, mode: "new" });
  }
}

/** Copies the run's variable to a variable of the conversation with the run's name. */
async function prepareCopy(
  store: VariableStore,
  { info }: ResultPart,
): Promise<stores.PreparedWrite> {
  const value = (await copyOf(store, info.name)) ?? null;
  return store.prepare({ ...labelsOf(info), name: info.name, value, mode: "replace" });
}

/** Gives a retried run a result of its own again. Throws `conflict` if it is not there as the run has left it. */
export async function restoreResult(
  store: VariableStore,
  { output, name, version, updatedAt }: RunResult,
  { run, plan: { runNames } }: { readonly run: string; readonly plan: Plan },
): Promise<stores.PreparedWrite> {
  const info = store.info(name);
  if (info?.version !== version || info.updatedAt !== updatedAt) throw resultsGone();
  const value = (await store.read(name)) ?? null;
  return store.prepare({ ...labelsOf(info), name: nameInRun(run, output, runNames), value, run });
}

export function resultsGone(): ByrefError {
  const message = "What the run has left has changed or expired: start a new run.";
  return new ByrefError("conflict", message);
}

function labelsOf({ visibility, sources, trusted, flags, madeOf }: ResultPart["info"]) {
  const labels = { sources, trusted, ...flagged(flags), ...json.compact({ madeOf }) };
  return { ...labels, ...(visibility === "model" ? {} : { visibility }) };
}

/** Copies in chunks, because the value may not fit into memory. */
async function copyOf(store: VariableStore, name: string): Promise<contents.Content | undefined> {
  const open = store.open(name);
  if (open === undefined) return undefined;
  const { type, mediaType } = open.info;
  const stream = streamOf(piecesOf(open));
  try {
    const records = type === "array" ? await store.receiveRecords(stream, mediaType) : undefined;
    return records ?? (await store.receive(stream, mediaType));
  } finally {
    open.close();
  }
}

async function* piecesOf(open: metadata.OpenValue): AsyncGenerator<Uint8Array> {
  const { bytes } = open.info;
  for (let from = 0; from < bytes; from += limits.maxRecordBytes)
    yield await open.read(from, Math.min(from + limits.maxRecordBytes, bytes));
}

function withBreak(store: VariableStore, name: string, value: Json): Json {
  const there = store.info(name);
  const isBelow = there?.type === "string" && there.count > 0 && typeof value === "string";
  return isBelow ? `\n\n${value}` : value;
}

const STATE: PlanOutput = { name: "state", mode: "merge" };

/** The state and the outputs that a run has written. All shown values together are at most `maxBytes`. */
export async function resultParts(
  store: VariableStore,
  { plan, run, maxBytes }: { readonly plan: Plan; readonly run: string; readonly maxBytes: number },
): Promise<readonly ResultPart[]> {
  // The state is merged, even if an output has its name.
  const outputs = [STATE, ...plan.outputs.filter(({ name }) => name !== STATE.name)];
  const parts: ResultPart[] = [];
  let room = maxBytes;
  for (const output of outputs) {
    const info = store.info(nameInRun(run, output.name, plan.runNames));
    if (info === undefined) continue;
    const { visibility, type, bytes } = info;
    const isShowable = visibility !== "secret" && type !== "bytes" && bytes <= room;
    const value = isShowable ? await store.read(info.name) : undefined;
    const written = value === undefined ? 0 : encoding.byteLength(JSON.stringify(value));
    const shown = written > room ? undefined : value;
    if (shown !== undefined) room -= written;
    parts.push({ output, info, shown, handle: { $var: info.name } });
  }
  return parts;
}

/**
 * A run's result: its state, plus the outputs that are not in it. An output whose name is a key of the state
 * is shown under `variable:name`. A state that is not an object is shown under `state`.
 */
export function resultOf(
  parts: readonly (Pick<ResultPart, "output" | "shown"> & { readonly handle: Json })[],
): Json {
  const state = parts.find(({ output }) => output === STATE);
  const outputs = parts.filter((part) => part !== state);
  const own = state?.shown ?? state?.handle ?? {};
  if (outputs.length === 0) return own;
  const isHandle = state !== undefined && state.shown === undefined;
  const entries = new Map<string, Json>(
    json.isJsonObject(own) && !isHandle ? Object.entries(own) : [[STATE.name, own]],
  );
  for (const { output, shown, handle } of outputs) {
    const { name } = output;
    entries.set(entries.has(name) ? `variable:${name}` : name, shown ?? handle);
  }
  return Object.fromEntries(entries);
}

/** A variable of a run that belongs to its result. */
interface ResultPart {
  readonly output: PlanOutput;
  readonly info: VariableInfo;
  /** Undefined for a value that is too large or secret. A handle replaces it. */
  readonly shown: Json | undefined;
  readonly handle: Json;
}

function handleOf(info: VariableInfo, value: Json | undefined, name: string | undefined): Json {
  const shown = toolOutputs.shownResult(info, value);
  const { $var: _, ...described } = json.isObject(shown) && json.isJsonObject(shown) ? shown : {};
  return json.compact({ $var: name, ...described });
}
