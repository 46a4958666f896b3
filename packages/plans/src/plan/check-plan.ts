import * as limits from "../../../../src/limits.ts";
import { asSchema } from "@ai-sdk/provider-utils";
import type { JSONSchema7, ToolSet } from "ai";
import { codeOf, messageOf } from "../../../../src/errors.ts";
import {
  BODY,
  Findings,
  tooManyCalls,
  type Finding,
  type FindingCode,
  writeAnswer,
} from "./plan-format.ts";
import { afterFindings, gateFindings, gatesIn, type ParameterText } from "./gates.ts";
import { issuesIn } from "./plan-input.ts";
import { GATES, STATE } from "./plan-record.ts";
import { characters, json, LookupWork, type Need, needsIn } from "../../../../src/internal.ts";
import {
  jsonSchemas,
  type Plan,
  type PlanCall,
  policies,
  saveTargets,
  toolInputs,
} from "../../../../src/internal-tool.ts";
import {
  formatPath,
  type Json,
  type Lookup,
  type Missing,
  type Reference,
  type Segment,
  type SyntaxName,
} from "../../../../src/references.ts";

export interface PlanContext {
  readonly tools: ToolSet;
  readonly isKnown: (name: string) => boolean;
  /** Looks up places in the conversation's `state`. Default: it is empty. */
  readonly state?: Lookup;
}

export interface CheckedCall {
  readonly call: PlanCall;
  readonly target?: saveTargets.SaveTarget;
  readonly needs: readonly CheckedNeed[];
  /** Gates that have to be opened before the call starts. */
  readonly gates: readonly string[];
  /** Indices of the calls that come before it. */
  readonly dependsOn: ReadonlySet<number>;
}

export interface CheckedNeed extends Need {
  /** The calls of this plan that write each reference. Undefined for a variable of the conversation. */
  readonly writers: readonly (Writers | undefined)[];
}

export interface CheckedPlan {
  readonly plan: Plan;
  readonly calls: readonly CheckedCall[];
  /** True for a place in `state` that no call writes: it is the conversation's. */
  readonly inherits: (reference: Reference) => boolean;
}

/**
 * Checks a plan. Adds its findings to those that there are, and returns, without any, the plan ready to run. Runs
 * nothing. Cost: linear in the calls, their parameters and their dependencies.
 */
export async function checkPlan(plan: Plan, context: PlanContext, findings = new Findings()) {
  if (plan.calls.length > limits.maxPlanItems) {
    findings.add(tooManyCalls(plan.calls.length));
    return { findings, checked: undefined };
  }
  const checked = await new Check(plan, context, findings).run();
  return { findings, checked: findings.isEmpty ? checked : undefined };
}

class Check {
  readonly #findings: Findings;
  readonly #plan: Plan;
  readonly #context: PlanContext;
  readonly #index = new PathIndex();
  /** The work of all lookups in the conversation's state. */
  readonly #work = new LookupWork();
  readonly #targets: (saveTargets.SaveTarget | undefined)[] = [];

  constructor(plan: Plan, context: PlanContext, findings: Findings) {
    this.#plan = plan;
    this.#context = context;
    this.#findings = findings;
  }

  async run(): Promise<CheckedPlan> {
    const { calls, syntaxes } = this.#plan;
    // All writers must be known before references are checked.
    const targetFindings = calls.map((call, index) => this.#addTarget(call, index));
    const ids = new Set<string>();
    const checked: CheckedCall[] = [];
    for (const [index, call] of calls.entries()) {
      if (ids.has(call.id)) {
        const message = `An earlier call has the _id ${call.id} too. Give each call its own, or none.`;
        this.#find("duplicate_id", call, { at: "_id", message });
      }
      ids.add(call.id);
      const texts = parameterTexts(call.parameters, syntaxes);
      await this.#checkTool(call, texts);
      this.#checkReferences(call, texts);
      checked.push(await this.#checkNeeds(call, index, texts));
      for (const { code, message } of targetFindings[index] ?? []) {
        this.#find(code, call, { at: "_outputPath", message });
      }
    }
    this.#checkOrder(checked);
    const inherits = (reference: Reference) => this.#inherits(reference);
    return { plan: this.#plan, calls: checked, inherits };
  }

  /**
   * Checks the output path. Returns its findings, so that they are reported in the order in which a call is
   * written.
   */
  #addTarget(call: PlanCall, index: number): Pick<Finding, "code" | "message">[] {
    const key = keyOf(call, this.#plan);
    if (key !== undefined) this.#index.add({ name: key, path: [] }, { call: index });
    if (call.outputPath === undefined) return [];
    try {
      const prefix = this.#plan.format === "json" ? "†" : "variable:";
      const target = saveTargets.saveTargetIn(call.outputPath, prefix);
      const problem = faultIn(target);
      if (problem !== undefined) return [{ code: "bad_output_path", message: problem }];
      this.#targets[index] = target;
      return target.places.flatMap((place) => {
        const others = this.#index.add(place, { call: index, source: place.source });
        // In written order, a later write replaces an earlier one.
        if (others.length === 0 || this.#plan.order === "written") return [];
        const ids = others.map((other) => this.#plan.calls[other.call]?.id ?? "").join(", ");
        const message = `${shown(place.source)} is written by ${ids} too; give each its own place.`;
        return [{ code: "duplicate_producer", message }];
      });
    } catch (error) {
      return [{ code: "bad_output_path", message: messageOf(error) }];
    }
  }

  async #checkTool(call: PlanCall, texts: readonly ParameterText[]): Promise<void> {
    const { tools } = this.#context;
    const tool = Object.hasOwn(tools, call.tool) ? tools[call.tool] : undefined;
    if (tool === undefined) {
      const message = policies.noSuchTool(call.tool, Object.keys(tools));
      this.#find("unknown_tool", call, { at: "_tool", message });
      return;
    }
    if (this.#plan.format === "capability-xml" && Object.hasOwn(call.parameters, BODY)) {
      const message = `${call.tool} takes no text: write attributes, or all parameters as JSON.`;
      this.#find("invalid_parameters", call, { at: "content", message });
    }
    for (const about of await parameterFindings(call, tool, texts)) {
      this.#find("invalid_parameters", call, about);
    }
  }

  #checkReferences(call: PlanCall, texts: readonly ParameterText[]): void {
    const found = texts.flatMap((text) => gateFindings(text, this.#plan));
    for (const about of [...found, ...afterFindings(call, this.#plan)])
      this.#findings.add({ ...about, call: call.id });
    this.#checkDollars(call);
  }

  async #checkNeeds(
    call: PlanCall,
    index: number,
    texts: readonly ParameterText[],
  ): Promise<CheckedCall> {
    const read = (call.reads ?? []).map((name): Need => {
      return { at: "", source: `$${name}`, operator: "all", references: [{ name, path: [] }] };
    });
    const needs = [...texts.flatMap((text) => text.needs), ...read];
    const gates = gatesIn(call, this.#plan);
    const target = this.#targets[index];
    const own = { call, gates, ...json.compact({ target }) };
    const isWritten = this.#plan.order === "written";
    // In written order, each call waits for the one before it.
    const dependsOn = new Set(isWritten && index > 0 ? [index - 1] : []);
    const seen = new Set<Writers["parts"]>();
    const checked: CheckedNeed[] = [];
    for (const need of needs) {
      const writers = need.references.map((reference) => {
        const { whole, parts } = this.#writersOf(reference, index);
        if (!isWritten) {
          for (const writer of whole) dependsOn.add(writer.call);
          // Many references may share the same parts.
          for (const writer of seen.has(parts) ? [] : parts) dependsOn.add(writer.call);
          seen.add(parts);
        }
        return whole.length + parts.length > 0 ? { whole, parts } : undefined;
      });
      const lacking = isWritten ? undefined : await this.#lackingIn(need, writers);
      if (lacking !== undefined) {
        const message = `Nothing writes ${shown(need.source)}, and ${lacking} Give the call that makes it an _outputPath.`;
        this.#find("no_producer", call, { at: need.at, message });
      }
      checked.push({ ...need, writers });
    }
    return { ...own, needs: checked, dependsOn };
  }

  /** In written order, a reference without an earlier writer stays text and waits for nothing. */
  #writersOf(reference: Reference, index: number): Writers {
    const found = this.#index.find(reference);
    if (this.#plan.order === "data") return found;
    const isEarlier = ({ call }: Writer) => call < index;
    return { whole: found.whole.filter(isEarlier), parts: found.parts.filter(isEarlier) };
  }

  /** Returns what the conversation lacks; undefined if the need can be met. */
  async #lackingIn(
    { operator, references }: Need,
    writers: readonly (Writers | undefined)[],
  ): Promise<string | undefined> {
    let lacking: string | undefined;
    for (const [at, reference] of references.entries()) {
      const missing = writers[at] === undefined ? await this.#missing(reference) : undefined;
      if (missing === undefined && operator === "first") return undefined;
      lacking ??= missing;
    }
    return lacking;
  }

  async #missing(reference: Reference): Promise<string | undefined> {
    if (!this.#inherits(reference)) {
      return this.#isThere(reference.name) ? undefined : "there is no such variable.";
    }
    // Without the dagger, it stays text.
    if (!this.#plan.syntaxes.includes("dagger")) return undefined;
    const found = await this.#context.state?.(reference, this.#work);
    if (found?.found === true) return undefined;
    return whyNotInState(found);
  }

  /** True for a place in `state` that no call of the plan writes. */
  #inherits(reference: Reference): boolean {
    if (reference.name !== STATE) return false;
    const { whole, parts } = this.#index.find(reference);
    return whole.length + parts.length === 0;
  }

  /** Models write dollar references elsewhere. In a plan they would stay text. */
  #checkDollars(call: PlanCall): void {
    if (this.#plan.format !== "json" || this.#plan.syntaxes.includes("dollar")) return;
    for (const { at, source, references } of needsIn(call.parameters, ["dollar"])) {
      if (at === LITERAL[call.tool]) continue;
      const isMeant = references.some(
        ({ name }) => name === "input" || this.#index.has(name) || this.#context.isKnown(name),
      );
      if (!isMeant) continue;
      const written = shown(source);
      const message = `References in a plan begin with †: write †${written.slice(1)}, not ${written}.`;
      this.#find("bad_reference", call, { at, message });
    }
  }

  /**
   * True if a variable exists without the plan. A run has its own input.
   */
  #isThere(name: string): boolean {
    if (name === "input" || name === GATES) return true;
    const isOwn = name === STATE || this.#plan.runNames.includes(name) || this.#index.has(name);
    // With the dagger, an unknown name is a reference to a missing variable. In other syntaxes it stays text.
    return !isOwn && (this.#context.isKnown(name) || !this.#plan.syntaxes.includes("dagger"));
  }

  #checkOrder(calls: readonly CheckedCall[]): void {
    if (this.#plan.order === "written") return;
    const cycle = findCycle(calls.map(({ dependsOn }) => dependsOn));
    if (cycle === undefined) return;
    const ids = cycle.map((index) => calls[index]?.call.id ?? "");
    const message = `These wait for one another: ${ids.join(" → ")}. Remove one of their references.`;
    this.#findings.add({ code: "cycle", call: ids[0] ?? "", at: "_outputPath", message });
  }

  #find(code: FindingCode, { id }: PlanCall, about: Pick<Finding, "at" | "message">): void {
    this.#findings.add({ code, call: id, ...about });
  }
}

/** Undefined if the value is there, but cannot be read here. */
function whyNotInState(missing: Missing | undefined): string | undefined {
  const { reason = "unknown", nearest, keys = [] } = missing ?? {};
  if (reason === "unknown" || reason === "evicted") return "the conversation has no state.";
  if (reason !== "path") return undefined;
  const held = keys.slice(0, MAX_KEYS).map((key) => characters.clip(key, MAX_KEY_CHARS));
  const more = keys.length - held.length;
  const names = [...held, ...(more > 0 ? [`${more} more`] : [])].join(", ");
  return `the conversation's ${shown(nearest ?? STATE)} holds ${names === "" ? "no such value" : names}.`;
}

/** Parameters in which a dollar is a part of the text. */
const LITERAL: Readonly<Record<string, string | undefined>> = {
  run_code: "code",
  [writeAnswer.name]: "text",
};

const MAX_KEYS = 10;
const MAX_KEY_CHARS = 80;

/** The name that a capability workflow writes by key, in addition to a call's output path. */
function keyOf({ tool, parameters }: PlanCall, { format }: Plan): string | undefined {
  const { key } = parameters;
  const isSet = format === "capability-xml" && tool === "variable_set";
  return isSet && typeof key === "string" ? key : undefined;
}

function faultIn({ operator, places }: saveTargets.SaveTarget): string | undefined {
  if (places.length > limits.maxBatchItems) {
    return `A call writes at most ${limits.maxBatchItems} places, this one ${places.length}.`;
  }
  const seen: string[] = [];
  for (const { name, path, source } of places) {
    if (name === GATES)
      return `${shown(source)} is a gate, which people open: write to another place, as †state.name.`;
    if (name === STATE && path.some((segment) => !("key" in segment)))
      return `${shown(source)} is in a list, and a run's state begins empty: write to a key, as †state.name.`;
    const place = name + formatPath(path);
    if (seen.includes(place)) return `${shown(source)} is named twice: remove one.`;
    const isWithin = (one: string, other: string) =>
      one.startsWith(other) && /^[.[]/u.test(one.slice(other.length));
    if (operator === "all" && seen.some((one) => isWithin(one, place) || isWithin(place, one)))
      return `${shown(source)} overlaps with another place of this call: remove one.`;
    seen.push(place);
  }
  return undefined;
}

const MAX_SOURCE_CHARS = 200;

/** A reference as findings show it. */
function shown(source: string): string {
  return characters.clip(source, MAX_SOURCE_CHARS);
}

/**
 * Finds a cycle among the calls. Returns the indices along it, from a producer to its readers, with the first one
 * repeated at the end. `dependsOn` lists the calls before each call.
 */
function findCycle(dependsOn: readonly ReadonlySet<number>[]): readonly number[] | undefined {
  const done = new Set<number>();
  const cycleFrom = (call: number, path: readonly number[]): readonly number[] | undefined => {
    if (path.includes(call)) return [...path.slice(path.indexOf(call)), call].reverse();
    if (done.has(call)) return undefined;
    for (const before of dependsOn[call] ?? []) {
      const cycle = cycleFrom(before, [...path, call]);
      if (cycle !== undefined) return cycle;
    }
    done.add(call);
    return undefined;
  };
  for (const call of dependsOn.keys()) {
    const cycle = cycleFrom(call, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

export interface Writer {
  readonly call: number;
  /** The call's output path as written. Absent if the call always writes the place when it is done. */
  readonly source?: string;
}

/**
 * The calls that write a reference's value: writers of it or of a value that contains it, and writers of its
 * parts.
 */
export interface Writers {
  readonly whole: readonly Writer[];
  readonly parts: readonly Writer[];
}

/** Maximum overlapping writers returned. Enough for an error message. */
const MAX_OVERLAPS = 3;

/** The places that a plan's calls write. Cost of a lookup: the path's length plus the writers found. */
class PathIndex {
  /** Writers of exactly a place, and of places below it, by the place. */
  readonly #at = new Map<string, Writer[]>();
  readonly #below = new Map<string, Writer[]>();

  /** Adds a writer. Returns the first few other calls whose places overlap. */
  add(place: Reference, writer: Writer): readonly Writer[] {
    const places = placesIn(place, (segment) => segmentKey(segment) ?? "#");
    const own = places.pop() ?? "";
    const overlaps = [...places, own].flatMap((one) => this.#at.get(one) ?? []);
    overlaps.push(...(this.#below.get(own) ?? []));
    put(this.#at, own, writer);
    for (const above of places) put(this.#below, above, writer);
    const others = overlaps.filter(({ call }) => call !== writer.call);
    return [...new Map(others.map((other) => [other.call, other])).values()].slice(0, MAX_OVERLAPS);
  }

  find(place: Reference): Writers {
    const places = placesIn(place, segmentKey);
    const whole = places.flatMap((one) => this.#at.get(one) ?? []);
    return { whole, parts: this.#below.get(places.at(-1) ?? "") ?? NONE };
  }

  has(name: string): boolean {
    return this.#at.has(name) || this.#below.has(name);
  }
}

const NONE: readonly Writer[] = [];

function put(writers: Map<string, Writer[]>, place: string, writer: Writer): void {
  const known = writers.get(place);
  if (known === undefined) writers.set(place, [writer]);
  else known.push(writer);
}

/** The name and each place on the path, up to a segment without a key. */
function placesIn({ name, path }: Reference, key: typeof segmentKey): string[] {
  const places = [name];
  for (const segment of path) {
    const next = key(segment);
    if (next === undefined) break;
    places.push(places.at(-1) + next);
  }
  return places;
}

/** Returns undefined for a segment that covers several elements, or that counts from the end. */
function segmentKey(segment: Segment): string | undefined {
  if ("key" in segment) return `.${JSON.stringify(segment.key)}`;
  return "index" in segment && segment.index >= 0 ? `#${segment.index}` : undefined;
}

/** Finds parameters that cannot fit the tool's schema, whatever their references resolve to. */
async function parameterFindings(
  { parameters, tool: name }: PlanCall,
  tool: Pick<ToolSet[string], "inputSchema">,
  texts: readonly ParameterText[],
): Promise<readonly Pick<Finding, "at" | "message">[]> {
  const open = texts.filter(({ needs }) => needs.length > 0);
  const findings: Pick<Finding, "at" | "message">[] = [];
  for (const one of open) {
    if (!isFilledText(one)) continue;
    // A schema that does not clearly require another type takes text.
    const types = jsonSchemas.typesAt(one.path, await toolInputs.jsonSchemaOf(tool, name));
    if (types.has("string")) continue;
    const message =
      "Text around a reference makes it text, which does not fit here. Write the reference alone.";
    findings.push({ at: one.path.join("."), message });
  }
  // The value of a reference is unknown until it is resolved.
  const places = new Set(open.map(({ path }) => path.join(".")));
  const { validate } = asSchema(tool.inputSchema);
  if (validate === undefined) {
    const schema = await toolInputs.jsonSchemaOf(tool, name);
    return [...findings, ...issuesOrNone(schema, parameters, places)];
  }
  const result = await validate(parameters);
  if (result.success) return findings;
  for (const { path, message } of toolInputs.issuesOf(result.error)) {
    const isOpen = path.some((_, depth) => places.has(path.slice(0, depth + 1).join(".")));
    if (!isOpen) findings.push({ at: path.join("."), message });
  }
  return findings;
}

/** Reports nothing if the check takes too long. */
function issuesOrNone(schema: JSONSchema7, value: Json, open: ReadonlySet<string>) {
  try {
    return issuesIn(schema, value, { open });
  } catch (error) {
    if (codeOf(error) !== "limit_exceeded") throw error;
    return [];
  }
}

/** All strings of a value, in the written order. */
function parameterTexts(value: Json, syntaxes: readonly SyntaxName[]): readonly ParameterText[] {
  const texts: ParameterText[] = [];
  const collect = (inner: Json, path: ParameterText["path"]) => {
    if (typeof inner === "string") {
      const at = path.join(".");
      const needs = needsIn(inner, syntaxes).map((need) => ({ ...need, at }));
      texts.push({ path, text: inner, needs });
    } else if (json.isJsonArray(inner)) {
      for (const [index, one] of inner.entries()) collect(one, [...path, index]);
    } else if (json.isJsonObject(inner)) {
      for (const [key, one] of Object.entries(inner)) collect(one, [...path, key]);
    }
  };
  collect(value, []);
  return texts;
}

/** True if there is text around references. The result is then text, whatever the references resolve to. */
function isFilledText({ text, needs }: ParameterText): boolean {
  return needs.length > 0 && needs.every(({ source }) => source !== text);
}
