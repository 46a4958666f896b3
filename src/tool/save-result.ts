import { ByrefError, codeOf, messageOf } from "../errors.ts";
import * as limits from "../limits.ts";
import type { Unresolved } from "../reference/expand.ts";
import { Content, valueIn } from "../store/bytes/content.ts";
import { nameForCall } from "../store/names.ts";
import type { AutomaticName, Variables, Write } from "../store/variable-store.ts";
import type { VariableInfo } from "../store/variable.ts";
import { type Awaitable, whenReady, whenSettled } from "../store/when-ready.ts";
import type { Json } from "../value/json.ts";
import { type Place, requireReplaced } from "./save-target.ts";
import { notKept, partInfo, toolOutput } from "./tool-output.ts";
import type { PlacedResult } from "./run-tool.ts";
import type { PreparedCall } from "./prepared-call.ts";
import { ownedBy, writtenName } from "./scoped-store.ts";
import type { CallOptions, Saved, WrapOptions } from "./wrapped-tool.ts";
import { failedWrite, failureFlags, isFailure } from "./policy.ts";

/** What is to be saved, of one value, and what is to be said of it. */
export interface Saving {
  /** One for each place, or one alone under a name that is found for it. */
  readonly writes: readonly [Write, ...Write[]];
  readonly places: readonly Place[];
  readonly unresolved: readonly Unresolved[];
  readonly call: SavingCall;
}

/** The call whose result is saved. */
type SavingCall = Pick<CallOptions, "scope" | "isPlanned" | "saveTo">;

/** Saves what a call gave: under the name that it gets, or in the places that it chose, all or none. */
export function saveResult(prepared: PreparedCall, result: PlacedResult): Awaitable<Saved> {
  const { write, places } = writeFor(prepared, result);
  const { unresolved } = prepared.resolution;
  const saving = { writes: writesAt(places, write), places, unresolved, call: prepared.call };
  return saveShown(saving, prepared.named.options);
}

/** The same write in each of the places; without any, under its own name. */
export function writesAt(places: readonly Place[], write: Write): Saving["writes"] {
  const [first, ...others] = places.map(({ name, path, run }) => ({
    ...write,
    name,
    path,
    ...(run === undefined ? {} : { run }),
  }));
  return first === undefined ? [write] : [first, ...others];
}

/**
 * Saves all of it or nothing; of a value that is too large to be kept, the output says so. Throws
 * `variable_sealed` if it belongs into a variable that has become guarded since the call was prepared.
 */
export function saveShown(saving: Saving, options: WrapOptions): Awaitable<Saved> {
  const { writes, places, call } = saving;
  const { scope, isPlanned } = call;
  requireReplaced(places, call, options.store);
  const refused = (error: unknown): Awaitable<Saved> => {
    if (codeOf(error) !== "limit_exceeded") {
      throw places.some(({ name }) => isGuarded(options.store, name)) ? withheld(error) : error;
    }
    const [write] = writes;
    const isWhole = writes.every(({ path = [] }) => path.length === 0);
    const isGuardedWrite = (write.visibility ?? "model") !== "model";
    // A run keeps what else is in its own variable.
    const isHidden = isGuardedWrite && isPlanned !== true && (isWhole || scope === undefined);
    // The model must not learn the size.
    if (isHidden && !isFailure(write)) {
      const [first, ...others] = writes.map((one) => failedWrite(one, error));
      if (first !== undefined) return saveShown({ ...saving, writes: [first, ...others] }, options);
    }
    const output = notKept(writes[0], messageOf(error), options.untrusted === "hide");
    if ("untrusted" in output) options.taint?.add();
    return { output };
  };
  const kept = (infos: readonly VariableInfo[]) => savedOf(saving, infos, options);
  const save = () => options.store.saveAll(writes.map((write) => ownedBy(scope, write)));
  return whenSettled(save, kept, refused);
}

function isGuarded(store: Variables, name: string): boolean {
  return (store.glance(name)?.visibility ?? "model") !== "model";
}

/** Why a write does not fit tells what is there. */
function withheld(error: unknown): ByrefError {
  return new ByrefError(
    codeOf(error),
    "What was to be saved does not fit there, which is guarded.",
  );
}

function savedOf(
  saving: Saving,
  infos: readonly VariableInfo[],
  options: WrapOptions,
): Awaitable<Saved> {
  const { store, owner } = options;
  const [info] = infos;
  if (info === undefined) throw new ByrefError("internal", "A result is saved somewhere.");
  if (owner !== undefined) for (const { name } of infos) store.holds.hold(owner, name);
  const { value } = saving.writes[0];
  const json = value instanceof Content ? valueIn(value) : value;
  const shown = (known: Json | undefined) => shownOf({ ...saving, info, json: known }, options);
  // Records that came as a stream are read again if they are few.
  const isSmall = info.chars <= limits.maxShownResultChars && info.type !== "bytes";
  if (json !== undefined || !isSmall) return shown(json);
  return whenReady(store.read(info.name), shown);
}

interface Kept extends Pick<Saving, "places" | "unresolved" | "call"> {
  readonly info: VariableInfo;
  readonly json: Json | undefined;
}

function shownOf(
  { info, json, places, unresolved, call: { scope } }: Kept,
  { store, untrusted, taint }: WrapOptions,
): Saved {
  const path = places[0]?.path ?? [];
  const named = { ...info, name: writtenName(info.name, store, scope) ?? info.name };
  const about = path.length > 0 && json !== undefined ? partInfo(named, json) : named;
  const output = toolOutput(about, json, {
    unresolved,
    path,
    hidesUntrusted: untrusted === "hide",
  });
  if ("untrusted" in output) taint?.add();
  return { info, output, places: places.map(({ source }) => source) };
}

function writeFor(prepared: PreparedCall, { value, notes, places }: PlacedResult) {
  const { named, input, labels, call, description: said, failure } = prepared;
  const { name, options } = named;
  const description = [said ?? "", ...notes].filter((text) => text !== "").join(" ");
  const own = labels.ofResult(name, options.policies?.[name]);
  const write: Write = {
    value,
    tool: name,
    toolCallId: call.toolCallId,
    // Of a call that code makes the input is no model's words, but values.
    ...(isPlain(prepared) ? { input } : {}),
    ...own,
    ...(failure === undefined ? {} : failureFlags(own.flags)),
    ...(description === "" ? {} : { description }),
    ...(places.length === 0 ? { name: nameFor(prepared, value) } : {}),
  };
  return { write, places };
}

/** May what went in be told? What code passes to a tool is told by nothing but its labels. */
function isPlain({ call, labels }: PreparedCall): boolean {
  return call.madeOf === undefined || (!labels.isGuarded && !labels.hasUntrusted);
}

/** A name is for all to see: it is not made of what is guarded. */
function nameFor(prepared: PreparedCall, value: Json | Content) {
  const { named, resolution, input, labels, digest } = prepared;
  const { name, options } = named;
  const automatic = (base: { base: string; numbered: boolean }): AutomaticName => ({
    ...base,
    inputDigest: digest,
  });
  const { visibility, trusted: isTrusted } = labels.ofResult(name, options.policies?.[name]);
  if (labels.isGuarded || !isPlain(prepared)) return automatic({ base: name, numbered: true });
  const hides = options.untrusted === "hide";
  if (hides && !labels.isTrusted) return automatic(nameForCall(name, input));
  const shown = value instanceof Content ? null : value;
  const isHidden = visibility !== "model" || (hides && !isTrusted);
  const chosen = isHidden ? undefined : options.naming?.(name, resolution.value, shown);
  return automatic(
    chosen === undefined ? nameForCall(name, resolution.value) : { base: chosen, numbered: false },
  );
}
