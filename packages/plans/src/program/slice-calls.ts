import { ByrefError } from "../../../../src/errors.ts";
import { MAY_HAVE_URL, writeAnswer } from "../plan/plan-format.ts";
import {
  characters,
  type Figure,
  figuresBeyond,
  figuresIn,
  json,
  pickSyntaxes,
  referenceTexts,
  Scanner,
  type Syntaxes,
  targets,
} from "../../../../src/internal.ts";
import type { PlanCall } from "../../../../src/internal-tool.ts";
import { formatPath, type Json, type Path, type Reference } from "../../../../src/references.ts";

/** A change of the conversation's variables, in the order in which they happened. */
export type PastStep = PastCall | PastWrite;

export interface PastCall {
  readonly id: string;
  readonly tool: string;
  /** As the model wrote it, with references. */
  readonly input: Json;
  readonly saved: readonly SavedPlace[];
  /** All texts like references that stayed text, because nothing had the name. Undefined if nobody noted them. */
  readonly unresolved?: readonly string[];
}

export interface SavedPlace extends Reference {
  /** Of `run_code`: saved by an assignment to `vars`. */
  readonly isAssigned?: true;
}

/** A variable that was written by none of the calls: by a person, a client or a plan. */
interface PastWrite {
  readonly given: string;
}

/** What a plan is made of: a value, or an answer. */
export type SliceSource = { readonly name: string } | PastAnswer;

export interface PastAnswer {
  readonly text: string;
  /** The references in it that were replaced by values. */
  readonly placed: ReadonlySet<string>;
  /** What was asked. Its numbers are not the model's. */
  readonly question: string;
}

interface SliceOptions {
  /** The syntaxes of the agent's references. */
  readonly syntaxes: Syntaxes;
  /** True for a variable that exists, or existed. */
  readonly isKnown: (name: string) => boolean;
  /**
   * True for a value that stays the conversation's variable, because an input cannot hold it. `call`: the one that
   * wrote it; undefined for a value that was given.
   */
  readonly staysVariable: (name: string, call: string | undefined) => boolean;
}

/** A value that a run of the plan is given. */
export interface SliceInput {
  readonly key: string;
  readonly name?: string;
  /** The call that wrote it, which is not in the plan, and why not. */
  readonly call?: string;
  readonly why?: string;
  /** The value, if a model typed it. */
  readonly typed?: Json;
}

export interface Slice {
  readonly calls: readonly PlanCall[];
  readonly inputs: readonly SliceInput[];
  /** Variables of the conversation that it reads as they are. */
  readonly variables: readonly string[];
  /** Ids of the past calls that are in it. */
  readonly past: readonly string[];
}

/**
 * Returns the calls that led to a value or an answer, back to their sources, as calls of a plan. Pure. Each version of a
 * variable is a place of its own: `†state.orders`, then `†state.v2.orders`, so that its name stays the last key. Throws
 * `invalid_plan` for a reference that cannot be written where it is. Cost: linear in the inputs.
 */
export function sliceCalls(
  steps: readonly PastStep[],
  source: SliceSource,
  options: SliceOptions,
): Slice {
  const past = new Past(steps, options);
  return new Slicer(past, options).slice(source);
}

/** A value that a variable had for some time. */
interface Version {
  readonly name: string;
  /** The call that wrote it. Without one, it becomes an input. */
  readonly writer?: Node;
  /** Of an input: the call that wrote it. */
  readonly call?: string;
  readonly why?: string;
  readonly typed?: Json;
}

/** The versions that a text or a call reads, by name. */
type Reads = Map<string, Version>;

/** A call, and what it reads. */
interface Node {
  readonly index: number;
  readonly call: PastCall;
  readonly reads: Reads;
  /** True if its result is an object of the variables that its code assigns. */
  readonly isGroup: boolean;
}

/** Tools that are not in plans: they call models, or are another way to write or run a plan. */
export const NOT_PLANNED = /^(?:delegate|propose_plan|run_program|variable_\w+)$/;

/** Follows the versions of all variables through a conversation. */
class Past {
  readonly #options: SliceOptions;
  readonly #now = new Map<string, Version>();
  /** Names that calls write. Before that, they name nothing that is left. */
  readonly #written: ReadonlySet<string>;

  constructor(steps: readonly PastStep[], options: SliceOptions) {
    this.#options = options;
    this.#written = new Set(
      steps.flatMap((step) => ("saved" in step ? step.saved.map(({ name }) => name) : [])),
    );
    for (const [index, step] of steps.entries()) {
      if ("given" in step) this.#now.set(step.given, { name: step.given });
      else this.#add(step, index);
    }
  }

  /** Adds the version that a reference reads now, if it names one. */
  read(reads: Reads, { name }: Reference): void {
    if (!this.has(name)) return;
    const version = this.#now.get(name) ?? { name };
    this.#now.set(name, version);
    reads.set(name, version);
  }

  has(name: string): boolean {
    return this.#now.has(name) || this.#written.has(name) || this.#options.isKnown(name);
  }

  #add(call: PastCall, index: number): void {
    const { saved } = call;
    const isGroup = saved.length > 0 && saved.every(({ isAssigned }) => isAssigned === true);
    const node: Node = { index, call, reads: new Map(), isGroup };
    const read: PlaceOf = (reference, source, isEscaped = false) => {
      const { name } = reference;
      const isNew =
        call.tool === "set_variable" &&
        json.isJsonObject(call.input) &&
        call.input["name"] === source;
      if (isNew && this.#written.has(name) && !this.#now.has(name)) return undefined;
      const { unresolved } = call;
      if (isEscaped || unresolved?.includes(source) === true) return undefined;
      // What was read had this name, which may be deleted now.
      if (unresolved !== undefined && !this.#now.has(name)) this.#now.set(name, { name });
      this.read(node.reads, reference);
      return undefined;
    };
    const parameters = parametersOf(call, read, this.#options);
    if (call.tool === "delete_variable" && json.isJsonObject(call.input)) {
      const target = targetOf(call.input["name"]);
      if (target !== undefined) this.#now.delete(target.name);
    }
    // A URL that a model typed must not become a person's.
    const mayHaveUrl = MAY_HAVE_URL.test(
      JSON.stringify(Object.values(parameters.value)).replaceAll('":', '" '),
    );
    const isTyped = call.tool === "set_variable" && !parameters.hasReferences && !mayHaveUrl;
    for (const place of saved) {
      const { name } = place;
      const why = whyLeftOut(call, place);
      const typed = isTyped ? (parameters.value["value"] ?? null) : undefined;
      const isInput = why !== undefined || typed !== undefined;
      const about = isInput ? json.compact({ call: call.id, why, typed }) : { writer: node };
      this.#now.set(name, { name, ...about });
    }
  }
}

function whyLeftOut(
  { tool, input, saved }: PastCall,
  { path, isAssigned }: SavedPlace,
): string | undefined {
  if (NOT_PLANNED.test(tool)) return `${tool} has no place in a plan`;
  if (!json.isJsonObject(input)) return "its input is no object";
  const { edits, name } = input;
  if (tool === "edit_variable" && edits === "undo") return "an edit was undone";
  const edited = tool === "edit_variable" ? targetOf(name) : undefined;
  if (path.length > 0 || (edited?.path ?? []).length > 0) return "a part was written";
  const returns = saved.some((one) => one.isAssigned === undefined);
  if (isAssigned === true && returns) return "the code returned a value, and assigned this one";
  return undefined;
}

function isExtending(tool: string, { mode }: Readonly<Record<string, Json>>): boolean {
  return tool === "set_variable" && (mode === "append" || mode === "merge");
}

function targetOf(written: Json | undefined): Reference | undefined {
  try {
    return typeof written === "string" ? targets.targetIn(written) : undefined;
  } catch {
    return undefined;
  }
}

interface Parameters {
  readonly value: Readonly<Record<string, Json>>;
  readonly hasReferences: boolean;
}

/** Returns the input of a call as the parameters of a plan's call, without its place for the result. */
function parametersOf(
  { tool, input }: PastCall,
  placeOf: PlaceOf,
  { syntaxes }: SliceOptions,
): Parameters {
  let hasReferences = false;
  const noting: PlaceOf = (reference, source, isEscaped) => {
    hasReferences = true;
    return placeOf(reference, source, isEscaped);
  };
  const rewriting = { syntaxes, placeOf: noting };
  const rewrite = (value: Json | undefined) => rewriteValue(value ?? null, rewriting);
  const named = (written: Json): Json => {
    const target = targetOf(written);
    const place = target && noting(target, String(written));
    return place === undefined ? written : referenceTo(below(place, []));
  };
  const parameters = (): Readonly<Record<string, Json>> => {
    if (!json.isJsonObject(input)) return {};
    const { _outputPath: _place, _description: _text, ...own } = input;
    switch (tool) {
      case "set_variable": {
        const value = rewrite(own["value"]);
        const written = own["name"] ?? "";
        const name = isExtending(tool, own) ? named(written) : written;
        // Without a value to add to, it is the value itself.
        return name === written ? { value } : { name, value, mode: own["mode"] ?? null };
      }
      case "edit_variable":
        return { name: named(own["name"] ?? ""), edits: rewrite(own["edits"]) };
      case "query_variables":
        return { sql: rewriteSql(String(own["sql"]), { rewrite, named }) };
      case "run_code": {
        const { outputs: _outputs, variables, ...code } = own;
        if (!json.isJsonArray(variables ?? null)) return code;
        return { ...code, variables: (variables as readonly Json[]).map(named) };
      }
      default:
        return Object.fromEntries(Object.entries(own).map(([key, value]) => [key, rewrite(value)]));
    }
  };
  return { value: parameters(), hasReferences };
}

/** A reference; blanks; what SQL does not read, or reads as a text; a name, quoted or not; any other character. */
const SQL_PART =
  /(\$\{[^}]*\}|\{\{[^}]*\}\}|[$†]\w+(?:\.\w+|\[[^\]]*\])*)|(\s+|--[^\n]*|\/\*[^]*?\*\/)|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|[\p{L}\p{N}_]+|[^]/gu;
const SQL_DEFINITION = /\b(\w+)\s*(?:\([^()]*\)\s*)?\bAS\s*(?:(?:NOT\s+)?MATERIALIZED\s*)?\(/giu;
/** Words that end the list of tables. */
const AFTER_TABLES =
  /^(?:WHERE|GROUP|ORDER|LIMIT|HAVING|WINDOW|UNION|INTERSECT|EXCEPT|SELECT|VALUES)$/u;

interface SqlRewriting {
  /** Rewrites a reference. */
  readonly rewrite: (written: string) => Json;
  /** Returns the reference of a table's name, or the name if it names nothing. */
  readonly named: (written: string) => Json;
}

/** Writes the references of a statement, and the tables that it names without a dollar, as those of a plan. */
function rewriteSql(sql: string, { rewrite, named }: SqlRewriting): string {
  // Names of WITH are not variables.
  const defined = new Set(Array.from(sql.matchAll(SQL_DEFINITION), ([, name]) => name));
  /** Whether the part in each open parenthesis is a list of tables. */
  const lists = [false];
  let expectsTable = false;
  let last = "";
  return sql.replaceAll(SQL_PART, (part, reference?: string, skipped?: string, at = 0) => {
    if (skipped !== undefined) return part;
    const word = part.toUpperCase();
    const isTable = expectsTable && word !== "(";
    // `IS DISTINCT FROM` compares.
    const isList = word === "JOIN" || (word === "FROM" && last !== "DISTINCT");
    if (word === "(") lists.push(expectsTable);
    if (word === ")") lists.pop();
    if (isList || AFTER_TABLES.test(word)) lists[lists.length - 1] = isList;
    expectsTable = isList || (lists.at(-1) === true && (word === "," || word === "("));
    last = word;
    if (reference !== undefined) return String(rewrite(part));
    const name = /^["`[]/u.test(part) ? part.slice(1, -1) : part;
    const isName = isTable && !defined.has(name) && !/^\s*[.(]/u.test(sql.slice(at + part.length));
    const place = isName ? String(named(name)) : name;
    return place === name ? part : place;
  });
}

/** Collects what one source needs, and writes it as a plan. */
class Slicer {
  readonly #past: Past;
  readonly #options: SliceOptions;
  readonly #nodes = new Set<Node>();
  readonly #versions = new Set<Version>();
  readonly #places = new Map<Version, Reference>();
  readonly #inputs: SliceInput[] = [];
  readonly #variables = new Set<string>();
  readonly #taken = new Set<string>();

  constructor(past: Past, options: SliceOptions) {
    this.#past = past;
    this.#options = options;
  }

  slice(source: SliceSource): Slice {
    const reads: Reads = new Map();
    const read: PlaceOf = (reference, text, isEscaped = false) => {
      if (!isEscaped && ("name" in source || source.placed.has(text)))
        this.#past.read(reads, reference);
      return undefined;
    };
    if ("name" in source) read({ name: source.name, path: [] }, "");
    else
      rewriteText(source.text, {
        syntaxes: this.#options.syntaxes,
        placeOf: read,
        inCode: false,
      });
    for (const version of reads.values()) this.#need(version);
    const nodes = [...this.#nodes].toSorted((one, other) => one.index - other.index);
    for (const version of this.#versions) if (version.writer === undefined) this.#addInput(version);
    for (const node of nodes) this.#place(node);
    const calls = nodes.map((node) => this.#callOf(node));
    if (!("name" in source)) calls.push(this.#answerCall(source, reads));
    return {
      calls,
      inputs: this.#inputs,
      variables: [...this.#variables],
      past: nodes.map(({ call }) => call.id),
    };
  }

  #need(first: Version): void {
    const open = [first];
    for (let version = open.pop(); version !== undefined; version = open.pop()) {
      if (this.#versions.has(version)) continue;
      this.#versions.add(version);
      const { writer } = version;
      if (writer === undefined) continue;
      this.#nodes.add(writer);
      open.push(...writer.reads.values());
    }
  }

  #addInput(version: Version): void {
    const { name, call, why, typed } = version;
    if (typed === undefined && this.#options.staysVariable(name, call)) {
      this.#variables.add(name);
      this.#places.set(version, { name, path: [] });
      return;
    }
    const key = this.#inputKey(name);
    this.#places.set(version, { name: "input", path: [{ key }] });
    this.#inputs.push({ key, ...json.compact({ name, call, why, typed }) });
  }

  #inputKey(name: string): string {
    return freeName(name, (key) => this.#inputs.some((input) => input.key === key));
  }

  /** Gives places to the versions that a call writes. */
  #place(node: Node): void {
    const group = node.isGroup ? this.#free("code") : undefined;
    for (const version of this.#writtenBy(node)) {
      const { name } = version;
      const place = group === undefined ? this.#free(name) : below(group, [{ key: name }]);
      this.#places.set(version, place);
    }
  }

  /** The versions that are needed of those that a call has written. */
  #writtenBy(node: Node): readonly Version[] {
    return [...this.#versions].filter(({ writer }) => writer === node);
  }

  /** `state.orders`, then `state.v2.orders`. */
  #free(name: string): Reference {
    for (let next = 1; ; next++) {
      const path = [...(next === 1 ? [] : [{ key: `v${next}` }]), { key: name }];
      const text = formatPath(path);
      const isTaken = (one: string) =>
        one === text || one.startsWith(`${text}.`) || text.startsWith(`${one}.`);
      if ([...this.#taken].some(isTaken)) continue;
      this.#taken.add(text);
      return { name: "state", path };
    }
  }

  #callOf(node: Node): PlanCall {
    const { call } = node;
    const places = this.#writtenBy(node).flatMap((version) => this.#places.get(version) ?? []);
    const [first] = places;
    const written = node.isGroup && first !== undefined ? [above(first)] : places;
    const id = this.#idFor(node);
    const placeOf: PlaceOf = (reference, _, isEscaped = false) =>
      this.#placeIn(node.reads, reference, isEscaped);
    const { value } = parametersOf(call, placeOf, this.#options);
    const outputPath = written.map(referenceTo).join(" && ");
    return { id, tool: call.tool, parameters: value, outputPath };
  }

  /** The place of what a reference reads. An escaped one of a name that is there stays as it is. */
  #placeIn(reads: Reads, { name, path }: Reference, isEscaped: boolean): Reference | undefined {
    if (isEscaped) return this.#past.has(name) ? { name, path } : undefined;
    const version = reads.get(name);
    return version && below(this.#places.get(version) ?? { name, path: [] }, path);
  }

  #idFor({ call }: Node): string {
    const id = freeName(call.saved[0]?.name ?? call.tool, (one) => this.#taken.has(`id ${one}`));
    this.#taken.add(`id ${id}`);
    return id;
  }

  #answerCall({ text: written, placed, question }: PastAnswer, reads: Reads): PlanCall {
    const text = rewriteText(written, {
      syntaxes: this.#options.syntaxes,
      placeOf: (reference, source, isEscaped = false) =>
        isEscaped || placed.has(source) ? this.#placeIn(reads, reference, isEscaped) : undefined,
      inCode: false,
      figuresIn: (text, covered) =>
        figuresBeyond(figuresIn(text, covered), question).map((figure) => {
          const key = this.#inputKey("figure");
          this.#inputs.push({ key, typed: figure.text });
          return { ...figure, place: { name: "input", path: [{ key }] } };
        }),
    });
    const id = this.#taken.has("id answer") ? "the_answer" : "answer";
    const outputPath = referenceTo(this.#free("answer"));
    return { id, tool: writeAnswer.name, parameters: { text }, outputPath };
  }
}

function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let next = 2; isTaken(free); next++) free = `${name}_${next}`;
  return free;
}

function above({ name, path }: Reference): Reference {
  return { name, path: path.slice(0, -1) };
}

/**
 * A place that a plan refers to: `state.orders`, `input.sales`. Undefined for text that is no reference. A backslash
 * before an escaped reference is removed if it has a place.
 */
type PlaceOf = (reference: Reference, source: string, isEscaped?: boolean) => Reference | undefined;

interface Rewriting {
  /** The syntaxes of the references as they were written. */
  readonly syntaxes: Syntaxes;
  readonly placeOf: PlaceOf;
  /** False for answers, in whose code nothing is a reference. Default: true. */
  readonly inCode?: boolean;
  /** Returns ranges of the text that are replaced too, given those of its references. */
  readonly figuresIn?: (text: string, covered: readonly Range[]) => readonly PlacedFigure[];
}

interface PlacedFigure extends Figure {
  readonly place: Reference;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** A range of a text, and what a plan has there. */
interface Replacement extends Range {
  readonly by: string | Reference;
}

/** Writes the references in the strings of a value as those of a JSON plan: `$orders[0]` → `†state.orders[0]`. */
function rewriteValue(value: Json, rewriting: Rewriting): Json {
  if (typeof value === "string") return rewriteText(value, rewriting);
  if (json.isJsonArray(value)) return value.map((inner) => rewriteValue(inner, rewriting));
  if (!json.isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, rewriteValue(inner, rewriting)]),
  );
}

function rewriteText(text: string, rewriting: Rewriting): string {
  const found = replacementsIn(text, rewriting);
  const figures = rewriting.figuresIn?.(text, found) ?? [];
  const all = [...found, ...figures.map(({ start, end, place }) => ({ start, end, by: place }))];
  all.sort((one, other) => one.start - other.start);
  const pieces: string[] = [];
  let from = 0;
  for (const [index, { start, end, by }] of all.entries()) {
    const next = all[index + 1]?.start ?? text.length;
    const rest = text.slice(end, Math.min(next, end + LOOKAHEAD_CHARS));
    const written = typeof by === "string" ? by : referenceBefore(by, rest);
    if (typeof by !== "string" && !isFirstIn(written + rest, by))
      throw unwritable(text.slice(start, end));
    pieces.push(text.slice(from, start), written);
    from = end;
  }
  const whole = pieces.join("") + text.slice(from);
  const wasJoined = rewriting.syntaxes.includes("dagger") && isJoined(text);
  if (isJoined(whole) && !wasJoined) throw unwritable(text);
  return whole;
}

function unwritable(source: string): ByrefError {
  const message = `${characters.clip(source, 80)} cannot be written here: put a space behind the reference, and propose the plan with it.`;
  return new ByrefError("invalid_plan", message, {
    findings: [{ code: "bad_reference", message }],
  });
}

function replacementsIn(
  text: string,
  { syntaxes, placeOf, inCode = true }: Rewriting,
): readonly Replacement[] {
  const isDaggerRead = syntaxes.includes("dagger");
  const scanner = new Scanner({
    syntaxes: pickSyntaxes(isDaggerRead ? syntaxes : [...syntaxes, "dagger"]),
    inCode,
  });
  scanner.feed(text);
  scanner.end();
  const found: Replacement[] = [];
  let at = 0;
  for (let piece = scanner.next(); piece !== undefined; piece = scanner.next()) {
    if (typeof piece === "string") {
      at += piece.length;
      continue;
    }
    scanner.accept();
    const { source, reference, escaped } = piece;
    const start = at;
    at += source.length + (escaped ? 1 : 0);
    const isDagger = source.startsWith("†");
    const place = isDagger && !isDaggerRead ? undefined : placeOf(reference, source, escaped);
    if (isDagger && (place === undefined || escaped)) {
      found.push({ start, end: at, by: `\\${source}` });
    } else if (place !== undefined) found.push({ start, end: at, by: escaped ? source : place });
  }
  return found;
}

/** Writes `†state["a"]` if what follows would become a part of `†state.a`. */
function referenceBefore(place: Reference, rest: string): string {
  const plain = referenceTo(place);
  const last = place.path.at(-1);
  if (isFirstIn(plain + rest, place) || last === undefined || !("key" in last)) return plain;
  return `${referenceTo(above(place))}[${JSON.stringify(last.key)}]`;
}

/** Longer than what decides about a reference. */
const LOOKAHEAD_CHARS = 1_000;

function isFirstIn(text: string, { name, path }: Reference): boolean {
  const match = dagger?.match(referenceTexts.wholeView(text, 0));
  if (match?.kind !== "whole") return false;
  const { reference } = match;
  return reference.name === name && formatPath(reference.path) === formatPath(path);
}

/** True for references that are read as one: `†a || †b`. */
function isJoined(text: string): boolean {
  return dagger?.alternatives?.(text) !== undefined;
}

const [dagger] = pickSyntaxes(["dagger"]);

/** Writes a reference of a JSON plan. */
function referenceTo({ name, path }: Reference): string {
  return `†${name}${formatPath(path)}`;
}

/** A place and a path below it. */
function below({ name, path }: Reference, more: Path): Reference {
  return { name, path: [...path, ...more] };
}
