import type { Reference } from "../reference/reference.ts";
import { splitNumber } from "../store/names.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { type CallFlow, mayWrite, type Written } from "../tool/call-flow.ts";

/** A call that is prepared only after other calls of its step have an outcome. */
export interface Deferred {
  /** Calls that write what it reads. It is skipped if one of them has no result. */
  readonly needs: readonly Needed[];
  /** Calls that it follows, whatever their outcome. */
  readonly follows: readonly string[];
}

export interface Needed {
  readonly toolCallId: string;
  /** The reference as written. */
  readonly source: string;
  /** The name in the store. */
  readonly name: string;
}

/** A call of a step, with what it reads and writes. */
export interface FlowingCall {
  readonly toolCallId: string;
  readonly flow: CallFlow;
}

interface OrderOptions {
  readonly store: VariableStore;
  /** True if each call follows the one before it. */
  readonly isWrittenOrder: boolean;
}

/**
 * Returns, by id, the calls of a step that have to wait for others. A call waits for each earlier call that
 * may write what it reads; if there is none and what it reads does not exist, for later ones. Calls that
 * wait for each other wait in vain: see `cyclesIn`. Cost: for each distinct reference, the calls that write
 * its name.
 */
export async function orderOf(
  calls: readonly FlowingCall[],
  options: OrderOptions,
): Promise<ReadonlyMap<string, Deferred>> {
  const producers = new Producers(calls, options);
  const deferred = new Map<string, Deferred>();
  for (const [index, { toolCallId, flow }] of calls.entries()) {
    const before = options.isWrittenOrder ? calls[index - 1] : undefined;
    const follows = new Set(before === undefined ? [] : [before.toolCallId]);
    const needs = new Map<string, Needed>();
    const reads = new Map(flow.reads.map((read) => [read.source, read]));
    for (const { source, name, isNeeded, ...read } of reads.values()) {
      for (const id of await producers.of({ ...read, name }, index)) {
        if (isNeeded) needs.set(`${id} ${name}`, { toolCallId: id, source, name });
        else follows.add(id);
      }
    }
    if (needs.size + follows.size === 0) continue;
    deferred.set(toolCallId, { needs: [...needs.values()], follows: [...follows] });
  }
  return deferred;
}

/** Which calls write a name. */
class Producers {
  readonly #options: OrderOptions;
  readonly #byName = new Map<string, Producer[]>();

  constructor(calls: readonly FlowingCall[], options: OrderOptions) {
    this.#options = options;
    for (const [index, { toolCallId, flow }] of calls.entries()) {
      for (const written of flow.writes) {
        const name = "base" in written ? written.base : written.name;
        const known = this.#byName.get(name) ?? [];
        known.push({ index, toolCallId, written });
        this.#byName.set(name, known);
      }
    }
  }

  /** Returns the ids of the calls that the call at `index` has to wait for. */
  async of(read: Reference, index: number): Promise<readonly string[]> {
    const { store, isWrittenOrder } = this.#options;
    const names = [read.name, splitNumber(read.name)?.base];
    const all = names
      .flatMap((name) => (name === undefined ? [] : (this.#byName.get(name) ?? [])))
      .filter((producer) => producer.index !== index && mayWrite(producer.written, read, store));
    const earlier = all.filter((producer) => producer.index < index);
    const isEnough = earlier.length > 0 || all.length === 0 || isWrittenOrder;
    const chosen = isEnough || (await exists(read, store)) ? earlier : all;
    return chosen.map(({ toolCallId }) => toolCallId);
  }
}

interface Producer {
  readonly index: number;
  readonly toolCallId: string;
  readonly written: Written;
}

async function exists({ name, path }: Reference, store: VariableStore): Promise<boolean> {
  if (store.glance(name) === undefined) return false;
  if (path.length === 0) return true;
  const reading = await store.readPath(name, path).catch(() => undefined);
  return reading === undefined || reading.found;
}

/** Returns the calls that wait for each other in a circle, or for such calls, and so could never begin. */
export function cyclesIn(deferred: ReadonlyMap<string, Deferred>): ReadonlySet<string> {
  const stuck = new Set(deferred.keys());
  for (let before = -1; before !== stuck.size;) {
    before = stuck.size;
    for (const id of stuck) {
      if (!dependenciesOf(deferred.get(id)).some((other) => stuck.has(other))) stuck.delete(id);
    }
  }
  return stuck;
}

/** The calls that have to have an outcome first. */
export function dependenciesOf({ needs, follows }: Deferred = NONE): readonly string[] {
  return [...needs.map(({ toolCallId }) => toolCallId), ...follows];
}

const NONE: Deferred = { needs: [], follows: [] };
