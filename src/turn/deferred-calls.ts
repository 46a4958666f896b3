import type { Reference } from "../reference/reference.ts";
import { splitNumber } from "../store/names.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { type CallFlow, NO_FLOW, type Written } from "../tool/wrapped-tool.ts";
import { isGuarded } from "../tool/save-target.ts";
import { clip } from "../value/characters.ts";
import type { Path } from "../value/path.ts";
import { tagsOf } from "./agent.ts";
import type { Deferred, Needed, WrittenCall } from "./history/message-parts.ts";
import type { TurnState } from "./log/turn-state.ts";
import type { TurnContext } from "./turn-context.ts";

type Call = Pick<WrittenCall, "toolCallId" | "toolName">;

interface Skipped<Refused extends Call> {
  readonly call: Refused;
  readonly why: { readonly code: "skipped"; readonly message: string };
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

  /**
   * Returns the calls of a step that can be prepared now. If a call names what another one writes, each call
   * is deferred until the one before it has an outcome, and a call is skipped that needs what only a later
   * one brings into being. Cost: for each distinct reference, the calls that write its name.
   */
  async defer<Given extends Call>(
    calls: readonly Given[],
    flowOf: (call: Given) => CallFlow | undefined,
  ): Promise<{ readonly ready: readonly Given[]; readonly skipped: readonly Skipped<Given>[] }> {
    const { agent, store } = this.#context;
    const flows = calls.map((call) => flowOf(call) ?? NO_FLOW);
    const uses = usesIn(flows, store);
    const isOrdered = tagsOf(agent) !== undefined || uses.some(({ length }) => length > 0);
    if (!isOrdered) return { ready: calls, skipped: [] };
    const ready: Given[] = [];
    const skipped: Skipped<Given>[] = [];
    let follows: readonly string[] = [];
    for (const [index, call] of calls.entries()) {
      const needs: Needed[] = [];
      let early: Use | undefined;
      for (const use of (uses[index] ?? []).filter(({ isNeeded }) => isNeeded)) {
        const earlier = calls.filter((_, at) => at < index && use.writers.includes(at));
        const { source, name } = use;
        needs.push(...earlier.map(({ toolCallId }) => ({ toolCallId, source, name })));
        if (earlier.length === 0 && !(await exists(use, store))) early ??= use;
      }
      if (early !== undefined) {
        skipped.push(skippedFor(call, early.source, calls[early.writers[0] ?? index]));
        continue;
      }
      if (follows.length + needs.length === 0) ready.push(call);
      else this.#state.deferred.set(call.toolCallId, { needs, follows });
      follows = [call.toolCallId];
    }
    return { ready, skipped };
  }

  /** Removes the calls that need not wait any longer. Those whose values will not come are skipped. */
  release(): {
    readonly released: readonly WrittenCall[];
    readonly skipped: readonly Skipped<WrittenCall>[];
  } {
    const { deferred, parts } = this.#state;
    const calls = parts.calls();
    const released: WrittenCall[] = [];
    const skipped: Skipped<WrittenCall>[] = [];
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
      else skipped.push(skippedFor(call, missing.source, calls.get(missing.toolCallId)));
    }
    return { released, skipped };
  }
}

function skippedFor<Refused extends Call>(
  call: Refused,
  source: string,
  writer: Call | undefined,
): Skipped<Refused> {
  const from = writer?.toolName ?? "another call";
  const message = `${clip(source, MAX_SOURCE_CHARS)} was to come from ${from}, which has not written it. Make it first.`;
  return { call, why: { code: "skipped", message } };
}

const MAX_SOURCE_CHARS = 80;

/** Calls that were stored by an older version may need others than those that they follow. */
function isReleased(
  { needs, follows }: Deferred,
  calls: ReadonlyMap<string, WrittenCall>,
): boolean {
  const isOver = (id: string) => calls.get(id)?.outcome !== undefined;
  return follows.every(isOver) && needs.every(({ toolCallId }) => isOver(toolCallId));
}

/** A reference to what other calls of the step may write. */
type Use = CallFlow["reads"][number] & {
  /** Indexes of these calls, in their order. */
  readonly writers: readonly number[];
};

/** Returns what each call of a step uses of the others. */
function usesIn(flows: readonly CallFlow[], store: VariableStore): readonly (readonly Use[])[] {
  const byName = new Map<string, Writer[]>();
  const byPrefix: Writer[] = [];
  for (const [at, { writes }] of flows.entries()) {
    for (const written of writes) {
      if ("prefix" in written) {
        byPrefix.push({ at, written });
        continue;
      }
      const name = "base" in written ? written.base : written.name;
      byName.set(name, [...(byName.get(name) ?? []), { at, written }]);
    }
  }
  const writersOf = (read: Reference) => {
    const names = [read.name, splitNumber(read.name)?.base ?? read.name];
    const named = [...new Set(names)].flatMap((name) => byName.get(name) ?? []);
    const writing = [...named, ...byPrefix].filter(({ written }) => mayWrite(written, read, store));
    return [...new Set(writing.map(({ at }) => at))].toSorted((one, other) => one - other);
  };
  return flows.map(({ reads }, index) =>
    [...new Map(reads.map((read) => [read.source, read])).values()].flatMap((read) => {
      const writers = writersOf(read).filter((at) => at !== index);
      return writers.length === 0 ? [] : [{ ...read, writers }];
    }),
  );
}

interface Writer {
  /** Index of the call in its step. */
  readonly at: number;
  readonly written: Written;
}

/** True if a reference can be read now. A guarded variable has all paths: which ones must not show in the order. */
async function exists({ name, path }: Reference, store: VariableStore): Promise<boolean> {
  if (store.glance(name) === undefined) return false;
  if (path.length === 0 || isGuarded(name, store)) return true;
  const reading = await store.readPath(name, path).catch(() => undefined);
  return reading === undefined || reading.found;
}

/** True if the call may write what is read. Places overlap if one is part of the other. */
export function mayWrite(written: Written, read: Reference, store: VariableStore): boolean {
  if ("path" in written) return written.name === read.name && overlap(written.path, read.path);
  if ("base" in written && written.base === read.name) return true;
  const mayBeNew =
    "prefix" in written
      ? `${read.name}_`.startsWith(`${written.prefix}_`)
      : splitNumber(read.name)?.base === written.base;
  return mayBeNew && store.glance(read.name) === undefined;
}

function overlap(one: Path, other: Path): boolean {
  return one.every((segment, at) => {
    const against = other[at];
    if (against === undefined || !("key" in segment) || !("key" in against)) return true;
    return segment.key === against.key;
  });
}
