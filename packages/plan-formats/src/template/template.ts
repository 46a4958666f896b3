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
        applyDirective(current, name, content.slice(opening.length).trim(), line);
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

interface Draft extends Pick<TemplateStep, "title" | "line" | "header"> {
  readonly inputs: Input[];
  readonly outputs: Output[];
  readonly tools: ToolUse[];
  writeMode?: TemplateWriteMode;
  header?: string;
  firstDirective?: number;
  prompt: string;
}

const MAX_SHOWN_NAME_CHARS = 40;

function draftAt(line: number, title?: string): Draft {
  return { ...json.compact({ title }), line, prompt: "", inputs: [], outputs: [], tools: [] };
}

function hasPrompt({ prompt }: Draft): boolean {
  return prompt.trim() !== "";
}

/** The heading of the whole text, if only empty lines follow it. */
function titleAlone(draft: Draft | undefined): string | undefined {
  const [, title] = /^#[ \t](.*)$/.exec(draft?.prompt.trim() ?? "") ?? [];
  return title?.trim();
}

function stepFrom({ firstDirective: _first, writeMode = "append", ...step }: Draft): TemplateStep {
  return { ...step, writeMode };
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

interface Directive {
  /** How it is written. */
  readonly form: string;
  /** Adds it to a step. Throws a ByrefError that says what is wrong. */
  readonly add: (step: Draft, cursor: Cursor, line: number) => void;
}

const directives: ReadonlyMap<string, Directive> = new Map(
  Object.entries({
    input: {
      form: "@input variable:name.path or file:notes/*.md, then (required), (paths-only) or (select=[0:5][*].title)",
      add({ inputs }, cursor, line) {
        const target = takeTarget(cursor);
        const options = takeOptions(cursor);
        if (options.pathsOnly && options.select.length > 0)
          throw wrong("(paths-only) shows no value, so there is nothing to select.");
        inputs.push({ target, ...options, line });
      },
    },
    output: {
      form: "@output variable:name or file:name.md",
      add({ outputs }, cursor, line) {
        const target = takeTarget(cursor);
        if (!cursor.isAtEnd) throw cursor.fault();
        requireWritable(target);
        const source = formatTarget(target);
        if (outputs.some((other) => formatTarget(other.target) === source))
          throw wrong(`${source} is an @output of this step already.`);
        outputs.push({ target, line });
      },
    },
    "write-mode": {
      form: "@write-mode append, replace or new, once",
      add(step, cursor) {
        const mode = writeModes.find((known) => known === cursor.text);
        if (mode === undefined || step.writeMode !== undefined) throw cursor.fault();
        step.writeMode = mode;
      },
    },
    header: {
      form: "@header Report for {today}, once",
      add(step, cursor) {
        if (cursor.isAtEnd || step.header !== undefined) throw cursor.fault();
        step.header = cursor.text;
      },
    },
    tools: {
      form: "@tools search, url_import(variable=page)",
      add({ tools }, cursor, line) {
        do {
          const tool = takeTool(cursor, line);
          if (tools.some(({ name }) => name === tool.name))
            throw wrong(`${shorten(tool.name)} is named twice in this step.`);
          if (tools.length === limits.maxPlanItems)
            throw wrong(`A step names at most ${limits.maxPlanItems} tools.`);
          tools.push(tool);
          cursor.read(/[ \t]*,?[ \t]*/y);
        } while (!cursor.isAtEnd);
      },
    },
  } satisfies Record<string, Directive>),
);

function applyDirective(step: Draft, name: string, text: string, line: number): void {
  if (text.length > limits.maxParagraphChars)
    throw wrong(`A directive has at most ${limits.maxParagraphChars} characters.`);
  const directive = directives.get(name);
  if (directive !== undefined) return directive.add(step, new Cursor(text, directive.form), line);
  const [near] = nearest(name, directives.keys());
  const hint = near === undefined ? "" : ` Did you mean @${near}?`;
  throw wrong(`There is no @${shorten(name)}.${hint} If it is text, begin the line with a space.`);
}

function takeTool(cursor: Cursor, line: number): ToolUse {
  const name = cursor.take(/[^ \t,()]+/y);
  if (cursor.read(/[ \t]*\(/y) === "") return { name, line };
  cursor.take(/[ \t]*variable[ \t]*=[ \t]*(?:variable:)?/y);
  const target: VariableTarget = { scheme: "variable", ...cursor.takeReference() };
  cursor.take(/[ \t]*\)/y);
  requireWritable(target);
  return { name, target, line };
}

/** An option is in parentheses after a blank. */
const UNTIL_OPTION = /(?:(?<![ \t])\(|[^(])*/y;

function takeTarget(cursor: Cursor): Target {
  if (cursor.take(/(?:variable|file):/y) === "variable:")
    return { scheme: "variable", ...cursor.takeReference() };
  const path = toolFiles.filePathIn(cursor.read(UNTIL_OPTION).trimEnd());
  // It would otherwise become a part of the file's name.
  const [unknown] = path.replaceAll(TODAY, "").match(/\{\w+\}/) ?? [];
  if (unknown !== undefined) throw wrong(`${unknown} is unknown; the only placeholder is {today}.`);
  return { scheme: "file", path };
}

/** Takes options, each in its own parentheses or separated by commas. */
function takeOptions(cursor: Cursor): Pick<Input, "required" | "pathsOnly" | "select"> {
  const given = new Map<string, Path>();
  while (!cursor.isAtEnd) {
    cursor.take(/[ \t]*\(/y);
    do {
      const name = cursor.take(/[ \t]*(?:required|paths-only|select[ \t]*=)[ \t]*/y);
      const option = name.replaceAll(/[ \t=]/g, "");
      if (given.has(option)) throw wrong(`(${option}) is given twice.`);
      const path = option === "select" ? cursor.takePath() : [];
      if (option === "select" && path.length === 0) throw cursor.fault();
      given.set(option, path);
    } while (cursor.read(/[ \t]*,/y) !== "");
    cursor.take(/[ \t]*\)[ \t]*/y);
  }
  return {
    required: given.has("required"),
    pathsOnly: given.has("paths-only"),
    select: given.get("select") ?? [],
  };
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
class Cursor {
  readonly text: string;
  readonly #form: string;
  #at = 0;

  constructor(text: string, form: string) {
    this.text = text;
    this.#form = form;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.text.length;
  }

  /** The error for a text that continues here as its directive cannot. */
  fault(): ByrefError {
    return wrong(`Write ${this.#form}, not "${shorten(this.text.slice(this.#at))}".`);
  }

  /** Reads what a sticky pattern matches here, which may be nothing. */
  read(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found = ""] = pattern.exec(this.text) ?? [];
    this.#at += found.length;
    return found;
  }

  /** Reads what a sticky pattern matches here. Throws if it is nothing. */
  take(pattern: RegExp): string {
    const found = this.read(pattern);
    if (found === "") throw this.fault();
    return found;
  }

  takeReference(): Reference {
    const { end } = matchName(this.#range, this.#at);
    if (end < 0) throw this.fault();
    const name = this.text.slice(this.#at, end);
    this.#at = end;
    return { name, path: this.takePath() };
  }

  /** Reads the longest path here, which may be empty. */
  takePath(): Path {
    const { end, path } = matchPath(this.#range, this.#at);
    this.#at = end;
    return path;
  }

  get #range() {
    return { text: this.text, limit: this.text.length, ended: true };
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
