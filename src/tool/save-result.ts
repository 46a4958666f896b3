import { compact, isJsonObject, isObject, type Json } from "../value/json.ts";
import { ByrefError, codeOf, messageOf } from "../errors.ts";
import * as limits from "../limits.ts";
import type { Unresolved } from "../reference/expand.ts";
import { Content, RECORDS_TYPE, valueIn } from "../store/bytes/content.ts";
import type { Labels } from "../store/labels.ts";
import { nameForCall } from "../store/names.ts";
import type { AutomaticName, Write } from "../store/variable-store.ts";
import type { VariableInfo } from "../store/variable.ts";
import { parseRecords } from "../value/encode-json.ts";
import { strictValue } from "../value/strict-json.ts";
import { change, mapped, type Prepare, saved, savingAll } from "./prepared-save.ts";
import type { PlacedResult } from "./run-tool.ts";
import type { RuntimeResult } from "./runtime-tool.ts";
import {
  chosenPlaces,
  isGuarded,
  type Place,
  requireReplaced,
  type SaveTarget,
  type Split,
} from "./save-target.ts";
import { ownedBy, writtenName } from "./scoped-store.ts";
import { isShort, keptWrite, shownResult } from "./shown-result.ts";
import { notKept, partInfo, toolOutput } from "./tool-output.ts";
import type { CallOptions, Saved, WrapOptions } from "./wrapped-tool.ts";

/** The result of a call: a value to save as a variable, or the result of a built-in tool. */
export type CallResult = ValueResult | RuntimeResult;

interface ValueResult extends PlacedResult {
  /** True if the value comes from an untrusted source, whatever the inputs. */
  readonly untrusted?: boolean | undefined;
}

/** An input with references resolved. */
export interface ResolvedInput {
  readonly value: Json;
  readonly unresolved: readonly Unresolved[];
}

/** A call that has run. */
interface FinishedCall {
  readonly tool: { readonly name: string; readonly options: WrapOptions };
  readonly call: CallOptions;
  /** The input as the model wrote it, apart from its parameters about the result. */
  readonly split: Split;
  readonly input: ResolvedInput;
  /** Labels of all inputs. */
  readonly named: Labels;
  readonly digest: string;
  readonly places: SaveTarget | undefined;
}

/** The writes of one value, and the facts that its output needs. */
interface Saving {
  /** One write for each place, or a single write with an automatic name. */
  readonly writes: readonly [Write, ...Write[]];
  readonly places: readonly Place[];
  readonly unresolved: readonly Unresolved[];
  /** See `ToolOutput`. */
  readonly notes?: readonly string[];
  readonly call: Pick<CallOptions, "scope" | "isPlanned" | "saveTo" | "keepAs">;
  /** A value of more characters is not shown. */
  readonly inlineChars?: number | undefined;
}

/**
 * Prepares the save of a call's result as a variable, under an automatic name or in the chosen places, all
 * of them or none. The result of a built-in tool becomes a variable only if the call has a place for it.
 */
export function savingOf(call: FinishedCall, result: CallResult): Prepare<Saved> {
  if (!("output" in result)) return savingValue(call, result);
  if (result.save !== undefined) return result.save;
  const { output, untrusted, isNothing = false } = result;
  const prepareShown = typeof output === "function" ? output : async () => change(() => output);
  const { places: target, tool } = call;
  if (target === undefined || isNothing) {
    const places = isNothing && target !== undefined ? { places: [] } : {};
    const shown = (json: Json) => ({ ...shownOf(json, tool.options, untrusted), ...places });
    const prepare = async () => mapped(await prepareShown(), shown);
    return call.call.keepAs === undefined ? prepare : keeping(call, result, prepare);
  }
  const saveShown = async () => {
    const shown = await saved(tool.options.store, prepareShown);
    const { value = shown } = result;
    const places = chosenPlaces(target);
    return savingValue(call, { value, notes: [], places, untrusted });
  };
  let save: Promise<Prepare<Saved>> | undefined;
  return async () => {
    // The tool's own changes must be made only once.
    save ??= saveShown();
    return (await save)();
  };
}

/** Shows what a built-in tool has answered to a plan, and keeps it as a variable if it is long. */
function keeping(
  call: FinishedCall,
  { output, value, untrusted }: RuntimeResult,
  prepare: Prepare<Saved>,
): Prepare<Saved> {
  const answer = typeof output === "function" ? undefined : output;
  const whole = call.named.isGuarded ? answer : (value ?? answer);
  if (whole === undefined) return prepare;
  const isLong = !isShort(whole);
  const keep = savingValue(call, { value: whole, notes: [], places: [], untrusted });
  return async () => {
    const kept = isLong ? await keep() : change<Partial<Saved>>(() => ({ shown: whole }));
    const prepared = await prepare();
    const commit = () => {
      const { shown, kept: name } = kept.commit();
      const saved = prepared.commit();
      // It was written to a place that is guarded.
      const hides = isObject(saved.output) && "visibility" in saved.output;
      return { ...saved, ...compact({ shown: hides ? undefined : shown, kept: name }) };
    };
    const discard = () => [kept, prepared].forEach((one) => one.discard());
    return { commit, discard };
  };
}

function shownOf(given: Json, { taint }: WrapOptions, untrusted = false): Saved {
  const output = strictValue(given);
  if (!untrusted) return { output };
  taint?.add();
  return {
    output: isJsonObject(output) ? { ...output, untrusted } : { shown: output, untrusted },
  };
}

function savingValue(finished: FinishedCall, result: ValueResult): Prepare<Saved> {
  const { tool, call, split, named, input } = finished;
  const { name, options } = tool;
  const { value, notes, places, untrusted = false } = result;
  const description = [split.description ?? "", ...notes].filter((text) => text !== "").join(" ");
  const own = named.ofResult(name, options.policies?.[name]);
  const write: Write = {
    value,
    tool: name,
    toolCallId: call.toolCallId,
    // The input of a call from code contains values, not the model's words.
    ...(isPlain(finished) ? { input: split.input } : {}),
    ...own,
    trusted: own.trusted && !untrusted,
    ...(description === "" ? {} : { description }),
    ...(places.length === 0 ? { name: nameFor(finished, value) } : {}),
  };
  const writes = writesAt(places, write);
  const inlineChars = options.policies?.[name]?.inlineChars;
  const saving = { writes, places, unresolved: input.unresolved, call, inlineChars };
  return savingAt(saving, options);
}

/** Returns the write for each of the places, or unchanged if there are none. */
export function writesAt(places: readonly Place[], write: Write): Saving["writes"] {
  const [first, ...others] = places.map(({ name, path, run }) => ({
    ...write,
    name,
    path,
    ...compact({ run }),
  }));
  return first === undefined ? [write] : [first, ...others];
}

/**
 * Saves all of the writes or none. If a value is too large to save, the output contains a notice. Throws
 * `variable_sealed` if the place is in a variable that has become guarded since the call was prepared.
 */
export function savingAt(saving: Saving, options: WrapOptions): Prepare<Saved> {
  const { writes, places, call } = saving;
  const { scope } = call;
  const { store } = options;
  const own = writes.map((write) => ownedBy(scope, write));
  const kept = keptWrite(writes[0], { call, places, value: jsonOf(writes[0].value) }, store);
  const isKept = (one: Write | undefined) => kept !== undefined && one?.name === kept.name;
  return savingAll<Saved>(
    store,
    kept === undefined ? own : [...(places.length === 0 ? [] : own), kept],
    {
      check: () => requireReplaced(places, call, store),
      onSaved: (infos, all) => {
        const about = { ...saving, value: all[0]?.value, isKept: isKept(all.at(-1)) };
        return savedOf(about, infos, options);
      },
      onRefused: (error, current) => {
        if (codeOf(error) === "limit_exceeded" && isKept(current.at(-1))) return { writes: own };
        if (codeOf(error) !== "limit_exceeded") {
          throw places.some(({ name }) => isGuarded(name, store)) ? withheld(error) : error;
        }
        return { result: () => refusedOf(writes[0], error, options) };
      },
    },
  );
}

/** Returns the output for a result that exceeds the quota. */
function refusedOf(write: Write, error: unknown, { untrusted, taint }: WrapOptions): Saved {
  const output = notKept(write, messageOf(error), untrusted === "hide");
  if ("untrusted" in output) taint?.add();
  const { visibility = "model" } = write;
  return { output, ...(visibility === "model" ? {} : { shown: { visibility } }) };
}

/** The reason why a write does not fit tells of the current value. */
function withheld(error: unknown): ByrefError {
  return new ByrefError(codeOf(error), "The result does not fit into the guarded variable.");
}

interface SavedWrite extends Pick<
  Saving,
  "places" | "unresolved" | "notes" | "call" | "inlineChars"
> {
  readonly value: Json | Content | undefined;
  /** True if the last variable keeps a plan's result. */
  readonly isKept: boolean;
}

function savedOf(
  { value, places, unresolved, notes, call: { scope, keepAs }, isKept, inlineChars }: SavedWrite,
  infos: readonly VariableInfo[],
  { store, owner, untrusted, taint }: WrapOptions,
): Saved {
  const [info] = infos;
  if (info === undefined) throw new ByrefError("internal", "A result is saved somewhere.");
  if (owner !== undefined) for (const { name } of infos) store.holds.hold(owner, name);
  const json = jsonOf(value);
  const path = places[0]?.path ?? [];
  const named = { ...info, name: writtenName(info.name, store, scope) ?? info.name };
  const about = path.length > 0 && json !== undefined ? partInfo(named, json) : named;
  const hidesUntrusted = untrusted === "hide";
  const output = toolOutput(about, json, { unresolved, notes, path, hidesUntrusted, inlineChars });
  if ("untrusted" in output) taint?.add();
  const saved = { info, output, places: places.map(({ source }) => source) };
  if (keepAs === undefined) return saved;
  const kept = isKept ? infos.at(-1) : undefined;
  return { ...saved, shown: shownResult(kept ?? about, json), ...compact({ kept: kept?.name }) };
}

function jsonOf(value: Json | Content | undefined): Json | undefined {
  return value instanceof Content ? smallValueIn(value) : value;
}

/** Returns the value if all of it is in memory; for streamed records, if there are few. */
function smallValueIn(content: Content): Json | undefined {
  const { about, body } = content;
  const isSmall = about.mediaType === RECORDS_TYPE && about.chars <= limits.maxShownResultChars;
  return isSmall && typeof body === "string" ? parseRecords(body) : valueIn(content);
}

/**
 * True if the input may be shown. Values that code passes to a tool carry no restriction but their labels.
 */
function isPlain({ call, named }: FinishedCall): boolean {
  return call.madeOf === undefined || (!named.isGuarded && !named.hasUntrusted);
}

/** Names are visible to everyone, so a name is never derived from guarded values. */
function nameFor(finished: FinishedCall, value: Json | Content): AutomaticName {
  const { tool, input, split, named, digest } = finished;
  const { name, options } = tool;
  const automatic = (base: { base: string; numbered: boolean }): AutomaticName => ({
    ...base,
    inputDigest: digest,
  });
  const { visibility, trusted: isTrusted } = named.ofResult(name, options.policies?.[name]);
  if (named.isGuarded || !isPlain(finished)) return automatic({ base: name, numbered: true });
  const hides = options.untrusted === "hide";
  if (hides && !named.isTrusted) return automatic(nameForCall(name, split.input));
  const isHidden = visibility !== "model" || (hides && !isTrusted);
  const chosen = isHidden ? undefined : options.naming?.(name, input.value, jsonOf(value) ?? null);
  return automatic(
    chosen === undefined ? nameForCall(name, input.value) : { base: chosen, numbered: false },
  );
}
