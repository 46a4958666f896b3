import type { Reference } from "../reference/reference.ts";
import { splitNumber } from "../store/names.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { type CallFlow, mayWrite, NO_FLOW, type Written } from "../tool/call-flow.ts";
import { isGuarded } from "../tool/save-target.ts";
import { clip } from "../value/characters.ts";
import { tagsOf } from "./agent.ts";
import type { Deferred, Needed, WrittenCall } from "./history/message-parts.ts";
import type { TurnState } from "./log/turn-state.ts";
import type { TurnContext } from "./turn-context.ts";

/** A call of a step, with what it reads and writes. */
interface FlowingCall {
  readonly toolCallId: string;
  readonly flow: CallFlow;
}

/** The calls of a turn's steps that are prepared after others of their step. */
export class DeferredCalls {
  readonly #context: Pick<TurnContext, "agent" | "store">;
  readonly #state: TurnState;

  constructor(context: Pick<TurnContext, "agent" | "store">, state: TurnState) {
    this.#context = context;
    this.#state = state;
  }

  /** True if a call can be prepared or skipped now. */
  get canRelease(): boolean {
    const { deferred, parts } = this.#state;
    if (deferred.size === 0) return false;
    const calls = parts.calls();
    return [...deferred.values()].some((one) => isReleased(one, calls));
  }

  /** The calls that others wait for. */
  get dependencies(): ReadonlySet<string> {
    return new Set([...this.#state.deferred.values()].flatMap(dependenciesOf));
  }

  /**
   * Defers the calls of a step that have to wait. Returns those that need not, and those that wait for each
   * other, which can never begin.
   */
  async defer<Call extends { readonly toolCallId: string }>(
    calls: readonly Call[],
    flowOf: (call: Call) => CallFlow | undefined,
  ): Promise<{ readonly independent: readonly Call[]; readonly stuck: readonly Call[] }> {
    const { agent, store } = this.#context;
    const flowing = calls.map((call) => {
      return { toolCallId: call.toolCallId, flow: flowOf(call) ?? NO_FLOW };
    });
    const isWrittenOrder = tagsOf(agent) !== undefined;
    const deferred = await orderOf(flowing, { store, isWrittenOrder });
    const cycles = cyclesIn(deferred);
    for (const [id, one] of deferred) if (!cycles.has(id)) this.#state.deferred.set(id, one);
    return {
      independent: calls.filter(({ toolCallId }) => !deferred.has(toolCallId)),
      stuck: calls.filter(({ toolCallId }) => cycles.has(toolCallId)),
    };
  }

  /** Removes the calls that need not wait any longer. Those whose values will not come are skipped. */
  release(): { readonly released: readonly WrittenCall[]; readonly skipped: readonly Skipped[] } {
    const { deferred, parts } = this.#state;
    const calls = parts.calls();
    const released: WrittenCall[] = [];
    const skipped: Skipped[] = [];
    for (const [id, one] of deferred) {
      if (!isReleased(one, calls)) continue;
      deferred.delete(id);
      const call = calls.get(id);
      if (call === undefined) continue;
      const missing = one.needs.find(
        ({ toolCallId, name }) =>
          calls.get(toolCallId)?.outcome !== "done" ||
          this.#context.store.glance(name) === undefined,
      );
      if (missing === undefined) released.push(call);
      else skipped.push({ call, why: skippedFor(missing, calls.get(missing.toolCallId)) });
    }
    return { released, skipped };
  }
}

interface Skipped {
  readonly call: WrittenCall;
  readonly why: { readonly code: "skipped"; readonly message: string };
}

export const IN_A_CIRCLE = {
  code: "skipped",
  message:
    "It needs what another call of this step writes, which needs what this one writes. Call one of them again without the other.",
} as const;

function skippedFor({ source }: Needed, producer: WrittenCall | undefined): Skipped["why"] {
  const from = producer?.toolName ?? "another call";
  const message = `${clip(source, MAX_SOURCE_CHARS)} was to come from ${from}, which has not written it. Make it first.`;
  return { code: "skipped", message };
}

const MAX_SOURCE_CHARS = 80;

function isReleased(deferred: Deferred, calls: ReadonlyMap<string, WrittenCall>): boolean {
  return dependenciesOf(deferred).every((id) => calls.get(id)?.outcome !== undefined);
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
async function orderOf(
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

/** The calls that write each name. */
class Producers {
  readonly #options: OrderOptions;
  readonly #byName = new Map<string, readonly Producer[]>();
  readonly #byPrefix: Producer[] = [];

  constructor(calls: readonly FlowingCall[], options: OrderOptions) {
    this.#options = options;
    for (const [index, { toolCallId, flow }] of calls.entries()) {
      for (const written of flow.writes) {
        const producer = { index, toolCallId, written };
        if ("prefix" in written) {
          this.#byPrefix.push(producer);
          continue;
        }
        const name = "base" in written ? written.base : written.name;
        this.#byName.set(name, [...(this.#byName.get(name) ?? []), producer]);
      }
    }
  }

  /** Returns the ids of the calls that the call at `index` has to wait for. */
  async of(read: Reference, index: number): Promise<readonly string[]> {
    const { store, isWrittenOrder } = this.#options;
    const names = [read.name, splitNumber(read.name)?.base];
    const named = names.flatMap((name) =>
      name === undefined ? [] : (this.#byName.get(name) ?? []),
    );
    const all = [...named, ...this.#byPrefix].filter(
      (producer) => producer.index !== index && mayWrite(producer.written, read, store),
    );
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

/** True if a reference can be read now. A guarded variable has all paths: which ones must not show in the order. */
async function exists({ name, path }: Reference, store: VariableStore): Promise<boolean> {
  if (store.glance(name) === undefined) return false;
  if (path.length === 0 || isGuarded(name, store)) return true;
  const reading = await store.readPath(name, path).catch(() => undefined);
  return reading === undefined || reading.found;
}

/** Returns the calls that wait for each other in a circle, or for such calls, and so could never begin. */
function cyclesIn(deferred: ReadonlyMap<string, Deferred>): ReadonlySet<string> {
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
function dependenciesOf({ needs, follows }: Deferred = NONE): readonly string[] {
  return [...needs.map(({ toolCallId }) => toolCallId), ...follows];
}

const NONE: Deferred = { needs: [], follows: [] };
