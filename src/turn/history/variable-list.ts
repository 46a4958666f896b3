import type { ModelMessage } from "ai";
import * as limits from "../../limits.ts";
import { type Syntaxes, writerIn } from "../../reference/syntaxes.ts";
import type { Taint } from "../../store/labels.ts";
import type { VariableStore } from "../../store/variables.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { isFrom, type PromptStage } from "../../tool/runtime-tool.ts";
import { AUTHOR } from "../../tool/tool-input.ts";
import { describesUntrusted, guardedView, handlesIn, variableIn } from "../../tool/tool-output.ts";
import { clip, inOneLine } from "../../value/characters.ts";
import { isObject, type Json, jsonIn } from "../../value/json.ts";
import { charsOf } from "../../value/json-text.ts";
import { detailsFor, type Guide } from "./guide.ts";

/** Opens the part of a prompt that comes after the messages. */
export const VARIABLES_TAG = "<variables>";

/** Introduces the handle of what a person gave. */
export const KEPT_AS = "kept as a variable: ";

/** A line of the list. Version 0: the variable was removed. */
export type ListedLine = readonly [name: string, version: number, about: string];

/** State of a turn's prompts, stored with its answer so that it survives a restart. */
export interface PromptRecord {
  readonly stage: PromptStage;
  /** Set from the first handle or guarded variable on. */
  readonly hasHandle?: true;
  /** The lines that the turn added to the list. */
  readonly lines?: readonly ListedLine[];
  /** The tools that the model has found, of this and all earlier turns. */
  readonly tools?: readonly string[];
}

export interface VariableListOptions {
  readonly store: VariableStore;
  /** Taint of the model that reads the prompts. */
  readonly taint: Taint;
  readonly hidesUntrusted: boolean;
  /** How the model writes references. Default: dollars. */
  readonly syntaxes?: Syntaxes | undefined;
  /** Returns the variables to list, oldest first. Default: the conversation's, without those of runs. */
  readonly variables?: (() => readonly VariableInfo[] | undefined) | undefined;
  /** Records of the messages that are sent, oldest first. */
  readonly before?: readonly PromptRecord[];
  /** State of the turn's own prompts before it waited for a person. */
  readonly own?: PromptRecord | undefined;
}

/**
 * Lists the variables that the messages of a model call do not show. The list only grows at its end: an
 * update and a removal add a line. Both it and the stage are derived from the messages, their records and the
 * store, so that a restart, a fork or an import changes neither.
 */
export class VariableList {
  readonly #options: VariableListOptions;
  readonly #lines: ListedLine[];
  /** Number of the lines that are in earlier records. */
  readonly #known: number;
  #stage: PromptStage = "start";
  #hasHandle = false;

  constructor(options: VariableListOptions) {
    const { before = [], own, hidesUntrusted } = options;
    this.#options = options;
    // Another agent of the conversation may have listed what this one hides.
    this.#lines = hidesUntrusted ? [] : before.flatMap(({ lines = [] }) => lines);
    this.#known = this.#lines.length;
    this.#lines.push(...(own?.lines ?? []));
    for (const record of own === undefined ? before : [...before, own]) {
      this.#reach(record.stage);
      this.#hasHandle ||= record.hasHandle === true;
    }
  }

  /** The state of the prompts and the lines added since. Undefined if there is nothing to store. */
  get record(): PromptRecord | undefined {
    if (this.#stage === "start") return undefined;
    const lines = this.#lines.slice(this.#known);
    return {
      stage: this.#stage,
      ...(this.#hasHandle ? { hasHandle: true } : {}),
      ...(lines.length === 0 ? {} : { lines }),
    };
  }

  /**
   * Returns the messages of the next prompt, after adding what they do not show. The guide's details and the new lines, if
   * there are any, change from step to step, so they come last: the text before them stays the same for the provider's
   * cache. Cost: linear in the messages.
   */
  promptWith(messages: readonly ModelMessage[], guide: Guide) {
    const found = findVariables(this.#options, shownVariables(messages), this.#lines);
    this.#advance(found);
    this.#lines.push(...this.#changed(found));
    const { isTainted } = this.#options.taint;
    const details = detailsFor(guide, { hasHandle: this.#hasHandle, isTainted });
    const said = [...(details === "" ? [] : [details]), ...this.#written(found)];
    const content = [VARIABLES_TAG, ...said, "</variables>"].join("\n");
    const hasList = said.length > 0;
    const listed = [...messages];
    if (hasList) listed.push({ role: "user", content });
    return { stage: this.#stage, messages: listed, hasList, hasDetails: details !== "" };
  }

  #reach(stage: PromptStage): void {
    if (isFrom(stage, this.#stage)) this.#stage = stage;
  }

  #advance({ shown, known, current, missing, total }: Found): void {
    const handles = [...shown.values()].filter(isHandle);
    const inFull = known.filter((info) => isInFull(info, shown.get(info.name)));
    if (handles.length > 0 || total > inFull.length) this.#reach("variable");
    // The length of a guarded value must not reach the model.
    this.#hasHandle ||=
      handles.length > 0 ||
      missing.some(
        ({ visibility, chars }) => visibility !== "model" || chars > limits.maxShownResultChars,
      );
    const hasText =
      handles.some(({ output: { type, count } }) => isLong({ type, chars: count })) ||
      missing.some((info) => info.visibility === "model" && (isLong(info) || isWritten(info)));
    if (hasText || total - current.size > limits.maxListedVariables) this.#reach("text");
  }

  /**
   * Lines of what has changed: variables that are gone, then those that were never listed in the order of their creation,
   * then updates and marks.
   */
  #changed({ isGiven, known, missing, current, named, newest }: Found): readonly ListedLine[] {
    const { store, taint, hidesUntrusted } = this.#options;
    const existing = new Set(known.map(({ name }) => name));
    // One that exists may belong to a run.
    const gone = [...named].filter(
      (name) =>
        !existing.has(name) &&
        newest.get(name)?.[1] !== REMOVED &&
        store.glance(name) === undefined,
    );
    const created = missing
      .filter(({ name }) => !newest.has(name))
      .toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
    const live = [...missing, ...known.filter(({ name }) => current.has(name))];
    const updated = live.filter(({ name, version, stale }) => {
      const [, listed, text = ""] = newest.get(name) ?? [];
      const isMarked = (stale !== undefined) === text.endsWith(STALE);
      return !isMarked || (listed !== undefined && listed !== version);
    });
    const lines = [...new Set([...created, ...updated])].map((info): ListedLine => {
      // The keys of a shape can also be untrusted text.
      if (describesUntrusted(info) && !hidesUntrusted) taint.add();
      const stale = info.stale === undefined ? "" : STALE;
      return [info.name, info.version, shortAbout(info, hidesUntrusted) + stale];
    });
    const removed = isGiven ? [] : gone.map((name): ListedLine => [name, REMOVED, "removed"]);
    return [...removed, ...lines];
  }

  /** Returns no line while the messages show everything that the lines describe. */
  #written({ current, known, missing, total }: Found): readonly string[] {
    const isNeeded = ([name, version, about]: ListedLine) =>
      version === REMOVED || !current.has(name) || about.endsWith(STALE);
    if (!this.#lines.some(isNeeded)) return [];
    const write = writerIn(this.#options.syntaxes) ?? String;
    const lines = this.#lines.slice(-limits.maxListedVariables);
    const listed = new Set(lines.map(([name]) => name));
    const others = [...known, ...missing].filter(({ name }) => !current.has(name));
    const live = new Set(others.flatMap(({ name }) => (listed.has(name) ? name : [])));
    const more = total - current.size - live.size;
    return [
      ...(more > 0 ? [`(${more} older variables are not listed)`] : []),
      ...lines.map(([name, , about]) => `${write(name)}: ${inOneLine(about)}`),
    ];
  }
}

type Found = ReturnType<typeof findVariables>;

function findVariables(
  { store, variables }: VariableListOptions,
  shown: ReadonlyMap<string, ShownVariable>,
  lines: readonly ListedLine[],
) {
  const newest = new Map(lines.map((line) => [line[0], line]));
  const given = variables?.();
  const lasting = () => store.list().filter(({ scope }) => scope !== "run");
  const all = given ?? (store.runs().length === 0 ? undefined : lasting());
  /** Names in the messages and in the list. */
  const named = new Set([...shown.keys(), ...newest.keys()]);
  /** The variables that exist, of those. */
  const known = all?.filter(({ name }) => named.has(name)) ?? store.list({ names: [...named] });
  /** Names of those whose current version is in the messages. */
  const current = new Set(
    known.filter((info) => isCurrent(info, shown.get(info.name))).map(({ name }) => name),
  );
  const last = limits.maxListedVariables;
  const candidates = all ?? store.list({ last: last + current.size });
  /** The newest that are not in the messages. */
  const missing = candidates.filter(({ name }) => !current.has(name)).slice(-last);
  const total = all?.length ?? store.count();
  return { isGiven: given !== undefined, shown, newest, named, known, current, missing, total };
}

const REMOVED = 0;

/** Ends the line of a value that is made of an older version of another. */
const STALE = " (stale)";

function isLong({ type, chars }: { readonly type: unknown; readonly chars: unknown }): boolean {
  return type === "string" && typeof chars === "number" && chars > limits.maxShownResultChars;
}

/** True for what a model wrote, as a value or as an input of a call, and may want to edit. */
function isWritten({ tool, chars }: VariableInfo): boolean {
  return tool === AUTHOR && chars > limits.maxShownResultChars;
}

function shortAbout(info: VariableInfo, hidesUntrusted: boolean): string {
  const { type, count, shape, description, trusted } = info;
  const guarded = guardedView(info);
  if (guarded !== undefined && guarded.type === undefined) return guarded.visibility;
  const size = type === "array" || type === "object" || type === "string" ? ` (${count})` : "";
  if (guarded !== undefined) return `${type}${size} sealed`;
  if (!trusted && hidesUntrusted) return `${type}${size} hidden, untrusted`;
  const about = description === undefined ? "" : ` // ${description}`;
  const inside = shape === type ? "" : ` ${clip(shape, limits.maxListedShapeChars)}`;
  return `${type}${size}${inside}${about}`;
}

type Output = Readonly<Record<string, unknown>>;

/** A variable in the messages of a prompt. */
interface ShownVariable {
  readonly name: string;
  readonly toolCallId: string | undefined;
  /** The output that names it. If the tool shows a text in its place: the name, and `value` undefined. */
  readonly output: Output;
  readonly input: unknown;
}

/** Finds the variables that the messages show, by name; of several mentions the last. Cost: linear. */
function shownVariables(messages: readonly ModelMessage[]) {
  const shown = new Map<string, ShownVariable>();
  const inputs = new Map<string, unknown>();
  const add = (outputs: readonly Output[], toolCallId?: string) => {
    const input = toolCallId === undefined ? undefined : inputs.get(toolCallId);
    for (const output of outputs) {
      const name = variableIn(output);
      if (name !== undefined) shown.set(name, { name, toolCallId, output, input });
    }
  };
  for (const { role, content } of messages) {
    if (typeof content === "string") continue;
    for (const part of content) {
      if (part.type === "tool-call") inputs.set(part.toolCallId, part.input);
      else if (part.type === "tool-result") add(outputsIn(part.output), part.toolCallId);
      else if (part.type === "text" && role === "user") {
        // The handle of what a person gave.
        const at = part.text.indexOf(KEPT_AS);
        const given = at < 0 ? undefined : jsonIn(part.text.slice(at + KEPT_AS.length));
        if (isObject(given)) add([given]);
      }
    }
  }
  return shown;
}

/** The outputs in a result: itself, or those of a tool with several. */
function outputsIn(result: { readonly type: string; readonly value?: unknown }): readonly Output[] {
  const { type, value } = result;
  if (type === "json") return handlesIn(value);
  const [first]: readonly unknown[] = type === "content" && Array.isArray(value) ? value : [];
  const text = type === "text" ? value : isObject(first) ? first.text : undefined;
  const [, name] = typeof text === "string" ? (LABEL.exec(text) ?? []) : [];
  return name === undefined ? [] : [{ $var: name, value: undefined }];
}

/** Begins the text with which a tool shows its own result in place of JSON. */
const LABEL = /^\$(\w+)(?:, untrusted)?:/u;

/**
 * True if the messages show this version of the variable, as far as its output can be compared. Of guarded
 * variables only the call is compared: their sizes must not reach a model.
 */
function isCurrent(info: VariableInfo, shown: ShownVariable | undefined): boolean {
  if (shown === undefined || shown.toolCallId !== info.toolCallId) return false;
  const { value, path, type, count, version } = shown.output;
  if (path !== undefined) return false;
  if (info.visibility !== "model") return true;
  if (version !== undefined) return version === info.version;
  if (value !== undefined) return isAsLong(value, info);
  return type === undefined || (type === info.type && count === info.count);
}

/** True if the messages have the value, as a tool's result or as the model wrote it. */
function isInFull(info: VariableInfo, shown: ShownVariable | undefined): boolean {
  if (shown === undefined || !isCurrent(info, shown)) return false;
  const { output, input } = shown;
  if (output.version === undefined) return "value" in output;
  return info.visibility === "model" && isObject(input) && isAsLong(input.value, info);
}

/** True if the output describes a value that is not in the messages. */
function isHandle({ output }: ShownVariable): boolean {
  return !("value" in output) && output.version === undefined;
}

/** True if a value of a message has as many characters as the variable. */
function isAsLong(value: unknown, { chars }: VariableInfo): boolean {
  return value !== undefined && charsOf(value as Json, chars) === chars;
}
