import * as limits from "../../../../src/limits.ts";
import { characters, json, nearest } from "../../../../src/internal.ts";
import { codeOf, messageOf, ByrefError } from "../../../../src/errors.ts";
import type { Finding, FindingCode } from "../../../plans/src/plan/plan-format.ts";
import { RESERVED_NAMES } from "../../../plans/src/plan/plan-record.ts";
import { toolFiles } from "../../../../src/internal-tool.ts";
import {
  matchName,
  matchPath,
  type Path,
  type Reference,
  formatPath,
} from "../../../../src/references.ts";
import * as z from "zod";

/** A template: prompts in Markdown, with their inputs and outputs. */
export interface Template {
  /** A `# ` heading without other text before the first step. */
  readonly name?: string;
  /** One or more steps, which run in this order. */
  readonly steps: readonly TemplateStep[];
}

type ReadTemplate =
  | { readonly template: Template; readonly findings: readonly [] }
  | { readonly template?: undefined; readonly findings: readonly Finding[] };

/**
 * Reads a template. Returns it, or all of its faults with their lines. Stops reading at a limit (headings:
 * `maxPlanItems`, directives: 1,000). Text between fences is always text; a byte order mark at the start is ignored.
 * Cost: linear.
 */
export function readTemplate(text: string): ReadTemplate {
  const drafts = [draftAt(1)];
  const findings: Finding[] = [];
  const find = (code: FindingCode, line: number, message: string) =>
    findings.push({ code, line, message });
  let line = 0;
  let directives = 0;
  let fence: Fence | undefined;
  for (const { 0: whole, 1: content = "" } of text.replace(/^\uFEFF/, "").matchAll(LINE)) {
    line++;
    const isFenced = fence !== undefined;
    fence = fenceAfter(content, fence);
    const current = drafts.at(-1) ?? draftAt(line);
    const [opening = "", name] = (isFenced ? null : DIRECTIVE.exec(content)) ?? [];
    if (!isFenced && HEADING.test(content)) {
      // The text before the first heading is among them.
      if (drafts.length > limits.maxPlanItems) {
        const message = `A template has at most ${limits.maxPlanItems} steps; this is one more.`;
        find("too_many_calls", line, message);
        return { findings };
      }
      drafts.push(draftAt(line, content.slice(2).trim()));
    } else if (name === undefined) current.prompt += whole;
    else {
      current.firstDirective ??= line;
      if (++directives > limits.maxItems) {
        const message = `A template has at most ${limits.maxItems} directives; this is one more.`;
        find("bad_directive", line, message);
        return { findings };
      }
      try {
        applyDirective(current, name, { value: content.slice(opening.length).trim(), line });
      } catch (error) {
        if (codeOf(error) === "internal") throw error;
        const at = `@${name.slice(0, MAX_SHOWN_NAME_CHARS)}`;
        findings.push({ code: "bad_directive", at, line, message: messageOf(error) });
      }
    }
  }
  const [before, ...headed] = drafts;
  const name = headed.length > 0 ? titleAlone(before) : undefined;
  const isStep = before !== undefined && name === undefined && hasPrompt(before);
  const stray = isStep ? undefined : before?.firstDirective;
  if (stray !== undefined)
    find("bad_directive", stray, "It has no prompt: put it below a step's heading.");
  const steps = isStep ? drafts : headed;
  for (const step of steps)
    if (!hasPrompt(step)) find("bad_plan", step.line, "The step has no prompt.");
  if (steps.length === 0) find("bad_plan", 1, "The template has no prompt.");
  if (findings.length > 0)
    return { findings: findings.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)) };
  return { template: { ...json.compact({ name }), steps: steps.map(stepFrom) }, findings: [] };
}

interface Draft extends StepDirectives {
  readonly title?: string;
  readonly line: number;
  firstDirective?: number;
  prompt: string;
}

const MAX_SHOWN_NAME_CHARS = 40;

function draftAt(line: number, title?: string): Draft {
  const empty = { prompt: "", inputs: [], outputs: new Map(), tools: new Map() };
  return { ...json.compact({ title }), line, ...empty };
}

function hasPrompt({ prompt }: Draft): boolean {
  return prompt.trim() !== "";
}

/** The heading of the whole text, if only empty lines follow it. */
function titleAlone(draft: Draft | undefined): string | undefined {
  const [, title] = /^#[ \t](.*)$/.exec(draft?.prompt.trim() ?? "") ?? [];
  return title?.trim();
}

function stepFrom(draft: Draft): TemplateStep {
  const { outputs, tools, writeMode = "append", firstDirective: _first, ...others } = draft;
  return { ...others, outputs: [...outputs.values()], writeMode, tools: [...tools.values()] };
}

interface Fence {
  readonly mark: string;
  readonly length: number;
}

/** A line with its break, if it has one. */
const LINE = /([^\r\n]+)(?:\r\n?|\n|$)|\r\n?|\n/g;
const HEADING = /^##[ \t]/;
const DIRECTIVE = /^@([A-Za-z][^ \t]*)/;
const FENCE = /^[ \t>]*(`{3,}|~{3,})(.*)$/s;
/** The marks of list items and quotes before a fence that opens. */
const MARKS = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*/;

/**
 * The fence that is open after a line of three or more backticks or tildes. At least as many of the same character
 * close it; otherwise it extends to the end.
 */
function fenceAfter(content: string, open: Fence | undefined): Fence | undefined {
  const line = open === undefined ? content.replace(MARKS, "") : content;
  const [, run, rest = ""] = FENCE.exec(line) ?? [];
  if (run === undefined) return open;
  const [mark = ""] = run;
  if (open === undefined) {
    // ```so``` is a line with inline code.
    const isInline = mark === "`" && rest.includes(mark);
    return isInline ? undefined : { mark, length: run.length };
  }
  const closes = mark === open.mark && run.length >= open.length && rest.trim() === "";
  return closes ? undefined : open;
}

interface StepDirectives {
  readonly inputs: Input[];
  /** Outputs by target as written. */
  readonly outputs: Map<string, Output>;
  readonly tools: Map<string, ToolUse>;
  writeMode?: TemplateWriteMode;
  header?: string;
}

interface Directive {
  readonly value: string;
  readonly line: number;
}

const directives: ReadonlyMap<string, (step: StepDirectives, directive: Directive) => void> =
  new Map([
    ["input", addInput],
    ["output", addOutput],
    ["write-mode", setWriteMode],
    ["header", setHeader],
    ["tools", addTools],
  ]);

/** Adds a directive. Throws a ByrefError that describes the fault. */
function applyDirective(step: StepDirectives, name: string, directive: Directive): void {
  if (directive.value.length > limits.maxParagraphChars) {
    throw wrong(`A directive has at most ${limits.maxParagraphChars} characters.`);
  }
  const apply = directives.get(name);
  if (apply !== undefined) return apply(step, directive);
  const [near] = nearest(name, directives.keys());
  const hint = near === undefined ? "" : ` Did you mean @${near}?`;
  throw wrong(`There is no @${shorten(name)}.${hint} If it is text, begin the line with a space.`);
}

function addInput(step: StepDirectives, { value, line }: Directive): void {
  const cursor = new TemplateCursor(value);
  const target = takeTarget(cursor, "@input");
  const options = takeOptions(cursor);
  if (options.pathsOnly && options.select.length > 0) {
    throw wrong("(paths-only) shows no value, so there is nothing to select.");
  }
  step.inputs.push({ target, ...options, line });
}

function addOutput(step: StepDirectives, { value, line }: Directive): void {
  const cursor = new TemplateCursor(value);
  const target = takeTarget(cursor, "@output");
  if (!cursor.isAtEnd) throw wrong(`@output takes no options, but here is "${cursor.rest}".`);
  requireWritable(target);
  const source = formatTarget(target);
  if (step.outputs.has(source)) throw wrong(`${source} is an @output of this step already.`);
  step.outputs.set(source, { target, line });
}

function setWriteMode(step: StepDirectives, { value }: Directive): void {
  const mode = writeModes.find((known) => known === value);
  if (mode === undefined) {
    throw wrong(`"${shorten(value)}" is not a write mode: write ${writeModes.join(", ")}.`);
  }
  if (step.writeMode !== undefined) throw wrong("This step has a @write-mode already.");
  step.writeMode = mode;
}

function setHeader(step: StepDirectives, { value }: Directive): void {
  if (value === "") throw wrong("@header needs a text, e.g. @header Report for {today}");
  if (step.header !== undefined) throw wrong("This step has a @header already.");
  step.header = value;
}

function addTools({ tools }: StepDirectives, { value, line }: Directive): void {
  if (value === "") throw wrong("@tools needs a tool, e.g. @tools url_import(variable=page)");
  const cursor = new TemplateCursor(value);
  for (; !cursor.isAtEnd; cursor.read(/[ \t]*,?[ \t]*/y)) {
    const tool = takeTool(cursor, line);
    if (tools.has(tool.name)) throw wrong(`${shorten(tool.name)} is named twice in this step.`);
    if (tools.size === limits.maxPlanItems) {
      throw wrong(`A step names at most ${limits.maxPlanItems} tools.`);
    }
    tools.set(tool.name, tool);
  }
}

function takeTool(cursor: TemplateCursor, line: number): ToolUse {
  const name = cursor.read(/[^ \t,()]*/y);
  if (name === "") throw wrong(`A tool's name is expected at "${cursor.rest}".`);
  if (cursor.read(/[ \t]*\(/y) === "") return { name, line };
  const isVariable = cursor.read(/[ \t]*variable[ \t]*=[ \t]*(?:variable:)?/y) !== "";
  const reference = isVariable ? cursor.takeReference() : undefined;
  if (reference === undefined || cursor.read(/[ \t]*\)/y) === "") {
    throw wrong(`${shorten(name)}(…) takes variable=name, not "${cursor.rest}".`);
  }
  const target: VariableTarget = { scheme: "variable", ...reference };
  requireWritable(target);
  return { name, target, line };
}

function takeTarget(cursor: TemplateCursor, directive: string): Target {
  if (cursor.isAtEnd)
    throw wrong(`${directive} needs a target, e.g. ${directive} variable:summary`);
  const scheme = cursor.read(/(?:variable|file):/y);
  if (scheme === "file:") return takeFile(cursor);
  if (scheme === "") {
    const { rest } = cursor;
    throw wrong(`A target begins with variable: or file:, as variable:summary, not "${rest}".`);
  }
  const reference = cursor.takeReference();
  const isWhole = cursor.isAtEnd || cursor.read(/[ \t]+/y) !== "" || cursor.rest.startsWith("(");
  if (reference === undefined || !isWhole) {
    throw wrong(`A variable's name or path cannot continue with "${cursor.rest}".`);
  }
  return { scheme: "variable", ...reference };
}

/** An option is in parentheses after a blank. */
const UNTIL_OPTION = /(?:(?<![ \t])\(|[^(])*/y;

function takeFile(cursor: TemplateCursor): Target {
  const path = toolFiles.filePathIn(cursor.read(UNTIL_OPTION).trimEnd());
  const unknown = unknownPlaceholder(path);
  if (unknown !== undefined) throw wrong(`${unknown} is unknown; the only placeholder is {today}.`);
  return { scheme: "file", path };
}

type Options = Pick<Input, "required" | "pathsOnly" | "select">;

/**
 * Reads options such as `(required)`, `(paths-only)`, `(select=[0:5])`, each in its own parentheses or
 * separated by commas.
 */
function takeOptions(cursor: TemplateCursor): Options {
  const given = new Map<string, Path>();
  while (!cursor.isAtEnd) {
    if (cursor.read(/\(/y) === "")
      throw wrong(`Options go in parentheses, not as "${cursor.rest}".`);
    do {
      const name = cursor.read(/[ \t]*(?:required|paths-only|select)[ \t]*/y).trim();
      if (name === "")
        throw wrong(`Options are required, paths-only or select=[0:5], not "${cursor.rest}".`);
      if (given.has(name)) throw wrong(`(${name}) is given twice.`);
      given.set(name, name === "select" ? takeSelect(cursor) : []);
    } while (cursor.read(/[ \t]*,/y) !== "");
    if (cursor.read(/[ \t]*\)[ \t]*/y) === "")
      throw wrong(`A ")" is missing before "${cursor.rest}".`);
  }
  return {
    required: given.has("required"),
    pathsOnly: given.has("paths-only"),
    select: given.get("select") ?? [],
  };
}

function takeSelect(cursor: TemplateCursor): Path {
  const path = cursor.read(/=[ \t]*/y) === "" ? [] : cursor.takePath();
  if (path.length > 0) return path;
  throw wrong(`select= needs a path, e.g. (select=[0:5][*].title), not "${cursor.rest}".`);
}

function requireWritable(target: Target): void {
  const source = shorten(formatTarget(target));
  if (target.scheme === "file") {
    if (isGlob(target.path)) throw wrong(`${source} is a pattern: an output is one file.`);
    return;
  }
  if (RESERVED_NAMES.includes(target.name)) {
    const owner = target.name === "input" ? "caller" : "run";
    throw wrong(`${source} belongs to the ${owner} and cannot be written; choose another name.`);
  }
  if (target.path.length > 0) throw onlyWhole(source);
}

/** The error for an output that is a part of a variable. */
export function onlyWhole(source: string): ByrefError {
  return wrong(`${source} is a part: a template writes whole variables.`);
}

function wrong(message: string): ByrefError {
  return new ByrefError("bad_request", message);
}

/** A position in a directive's text. It only moves forward. */
class TemplateCursor {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** The unread text, shortened for a message. */
  get rest(): string {
    return shorten(this.#text.slice(this.#at));
  }

  /** Reads what a sticky pattern matches here, which may be nothing. */
  read(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found = ""] = pattern.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }

  /** Reads a name and its path. Undefined if there is no name. Throws `bad_path`. */
  takeReference(): Reference | undefined {
    const { end } = matchName(this.#stretch, this.#at);
    if (end < 0) return undefined;
    const name = this.#text.slice(this.#at, end);
    this.#at = end;
    return { name, path: this.takePath() };
  }

  /** Reads the longest path here, which may be empty. Throws `bad_path`. */
  takePath(): Path {
    const { end, path } = matchPath(this.#stretch, this.#at);
    if (end - this.#at > limits.maxHeldChars) {
      const message = `The path is too long: it may have ${limits.maxHeldChars} characters.`;
      throw new ByrefError("bad_path", message);
    }
    this.#at = end;
    return path;
  }

  get #stretch() {
    return { text: this.#text, limit: this.#text.length, ended: true };
  }
}

const MAX_QUOTED_CHARS = 80;

export function shorten(text: string): string {
  const start = characters.clip(text, MAX_QUOTED_CHARS);
  return start === text ? text : `${start}…`;
}

const segment = z.union([
  z.strictObject({ key: z.string() }),
  z.strictObject({ index: z.int() }),
  z.strictObject({ each: z.literal(true) }),
  z.strictObject({ from: z.exactOptional(z.int()), to: z.exactOptional(z.int()) }),
]);

const path = z.array(segment);
/** From 1. */
const line = z.int().min(1);
const variable = z.object({ scheme: z.literal("variable"), name: z.string(), path });
/** A file in the conversation's folder, or a file pattern. Contains `{today}` as written. */
const file = z.object({ scheme: z.literal("file"), path: z.string() });
const target = z.union([variable, file]);

const writeModes = ["append", "replace", "new"] as const;

/** A step of a template as it is stored as JSON: one question to a model. */
export const templateStepSchema = z.object({
  /** The step's `## ` heading. Absent for text before the first heading. */
  title: z.exactOptional(z.string()),
  line,
  inputs: z.array(
    z.object({
      target,
      /** If true, the step is skipped when the input is missing. */
      required: z.boolean(),
      /** If true, the model receives the name instead of the value. */
      pathsOnly: z.boolean(),
      /** The selected part. Continues where the target's own path ends. */
      select: path,
      line,
    }),
  ),
  /** Places to which the answer is written. */
  outputs: z.array(z.object({ target, line })),
  /** How outputs are written. Default: `append`. */
  writeMode: z.enum(writeModes),
  /** A line above the written answer. Contains `{today}` as written. */
  header: z.exactOptional(z.string()),
  /** The step's tools, and where their results are saved. */
  tools: z.array(z.object({ name: z.string(), target: z.exactOptional(variable), line })),
  /** All lines that are neither directives nor the step's heading, unchanged, including line breaks. */
  prompt: z.string(),
});

type Deep<Value> = { readonly [Key in keyof Value]: Deep<Value[Key]> };

export type TemplateStep = Deep<z.infer<typeof templateStepSchema>>;
export type Input = TemplateStep["inputs"][number];
type Output = TemplateStep["outputs"][number];
type ToolUse = TemplateStep["tools"][number];
export type TemplateWriteMode = TemplateStep["writeMode"];
export type VariableTarget = Deep<z.infer<typeof variable>>;
export type FileTarget = Deep<z.infer<typeof file>>;
export type Target = VariableTarget | FileTarget;

/** Formats a target as in a directive: `variable:results[0].id`, `file:notes/*.md`. */
export function formatTarget(target: Target): string {
  if (target.scheme === "file") return `file:${target.path}`;
  return `variable:${target.name}${formatPath(target.path)}`;
}

export function isGlob(pattern: string): boolean {
  return /[*?]/.test(pattern);
}

const TODAY = "{today}";

/** `today`: a date in UTC, `2026-11-22`. It is fixed when a run begins, so that a run past midnight uses one day. */
export function fillPlaceholders(text: string, { today }: { readonly today: string }): string {
  return text.replaceAll(TODAY, () => today);
}

/** The first unknown `{word}`. It would otherwise become part of the file's name. */
function unknownPlaceholder(text: string): string | undefined {
  const [found] = text.replaceAll(TODAY, "").match(/\{\w+\}/) ?? [];
  return found;
}
