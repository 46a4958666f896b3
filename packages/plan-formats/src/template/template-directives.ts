import * as limits from "../../../../src/limits.ts";
import { ByrefError } from "../../../../src/errors.ts";
import { RESERVED_NAMES } from "../../../plans/src/plan/run-names.ts";
import { isGlob } from "./step-prompt.ts";
import {
  formatTarget,
  type Input,
  type Output,
  type TemplateWriteMode,
  type ToolUse,
  writeModes,
  type Target,
  type VariableTarget,
  unknownPlaceholder,
} from "./template-step.ts";
import { nearest } from "../../../../src/internal.ts";
import { toolFiles } from "../../../../src/internal-tool.ts";
import { matchName, matchPath, type Path, type Reference } from "../../../../src/references.ts";

export interface StepDirectives {
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
export function applyDirective(step: StepDirectives, name: string, directive: Directive): void {
  if (directive.value.length > limits.maxParagraphChars) {
    throw wrong(`A directive has at most ${limits.maxParagraphChars} characters.`);
  }
  const apply = directives.get(name);
  if (apply !== undefined) return apply(step, directive);
  const [near] = nearest(name, directives.keys());
  const hint = near === undefined ? "" : ` Did you mean @${near}?`;
  throw wrong(
    `There is no @${shortened(name)}.${hint} If it is text, begin the line with a space.`,
  );
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
    throw wrong(`"${shortened(value)}" is not a write mode: write ${writeModes.join(", ")}.`);
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
    if (tools.has(tool.name)) throw wrong(`${shortened(tool.name)} is named twice in this step.`);
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
    throw wrong(`${shortened(name)}(…) takes variable=name, not "${cursor.rest}".`);
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
  const source = shortened(formatTarget(target));
  if (target.scheme === "file") {
    if (isGlob(target.path)) throw wrong(`${source} is a pattern: an output is one file.`);
    return;
  }
  if (RESERVED_NAMES.includes(target.name)) {
    const owner = target.name === "input" ? "caller" : "run";
    throw wrong(`${source} belongs to the ${owner} and cannot be written; choose another name.`);
  }
  const isPlace = target.path.every((segment) => "key" in segment || "index" in segment);
  if (!isPlace) throw wrong(`${source} is not a single place to write to.`);
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
    return shortened(this.#text.slice(this.#at));
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

export function shortened(text: string): string {
  return text.length <= MAX_QUOTED_CHARS ? text : `${text.slice(0, MAX_QUOTED_CHARS)}…`;
}
