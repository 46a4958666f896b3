import * as limits from "../../../../src/limits.ts";
import { json } from "../../../../src/internal.ts";
import { codeOf, messageOf } from "../../../../src/errors.ts";
import type { Finding, FindingCode } from "../../../plans/src/plan/findings.ts";
import { type StepDirectives, applyDirective } from "./template-directives.ts";
import type { TemplateStep } from "./template-step.ts";

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
 * `maxPlanItems`, directives: 1,000). Cost: linear.
 */
export function readTemplate(text: string): ReadTemplate {
  const earlier: Draft[] = [];
  const findings: Finding[] = [];
  let current = draftAt(1);
  let directives = 0;
  const find = (code: FindingCode, line: number, message: string) =>
    findings.push({ code, line, message });
  for (const part of templateParts(text)) {
    if (part.kind === "text") current.prompt += part.text;
    else if (part.kind === "heading") {
      // The text before the first heading is among the earlier ones; the current step is not.
      if (earlier.length === limits.maxPlanItems) {
        const message = `A template has at most ${limits.maxPlanItems} steps; this is one more.`;
        find("too_many_calls", part.line, message);
        return { findings };
      }
      earlier.push(current);
      current = draftAt(part.line, part.title);
    } else {
      const { name, value, line } = part;
      current.firstDirective ??= line;
      if (++directives > limits.maxItems) {
        const message = `A template has at most ${limits.maxItems} directives; this is one more.`;
        find("bad_directive", line, message);
        return { findings };
      }
      try {
        applyDirective(current, name, { value, line });
      } catch (error) {
        if (codeOf(error) === "internal") throw error;
        const at = `@${name.slice(0, MAX_SHOWN_NAME_CHARS)}`;
        findings.push({ code: "bad_directive", at, line, message: messageOf(error) });
      }
    }
  }
  const [before, ...steps] = [...earlier, current];
  const name = steps.length > 0 ? titleAlone(before) : undefined;
  const isStep = before !== undefined && name === undefined && hasPrompt(before);
  const stray = isStep ? undefined : before?.firstDirective;
  if (stray !== undefined)
    find("bad_directive", stray, "It has no prompt: put it below a step's heading.");
  const drafts = isStep ? [before, ...steps] : steps;
  for (const draft of drafts)
    if (!hasPrompt(draft)) find("bad_plan", draft.line, "The step has no prompt.");
  if (drafts.length === 0) find("bad_plan", 1, "The template has no prompt.");
  if (findings.length > 0)
    return { findings: findings.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)) };
  return { template: { ...json.compact({ name }), steps: drafts.map(stepFrom) }, findings: [] };
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

/** A part of a template. Lines count from 1. */
type TemplatePart =
  /** One or more lines of a prompt, unchanged. */
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "heading"; readonly line: number; readonly title: string }
  /** `name` as written, without `@`. `value` is the rest, trimmed. */
  | {
      readonly kind: "directive";
      readonly line: number;
      readonly name: string;
      readonly value: string;
    };

interface Fence {
  readonly mark: string;
  readonly length: number;
}

const BYTE_ORDER_MARK = "\uFEFF";
/** A line with its break, if it has one. */
const LINE = /([^\r\n]+)(?:\r\n?|\n|$)|\r\n?|\n/g;
const HEADING = /^##[ \t]/;
const DIRECTIVE = /^@([A-Za-z][^ \t]*)/;
const FENCE = /^[ \t>]*(`{3,}|~{3,})(.*)$/s;

/**
 * Splits a template into parts. Text between fences is always text. A fence is a line of three or more
 * backticks or tildes. At least as many of the same character close it; otherwise it extends to the end. A
 * byte order mark at the start is ignored. Cost: linear.
 */
function* templateParts(written: string): Generator<TemplatePart> {
  const text = written.startsWith(BYTE_ORDER_MARK) ? written.slice(1) : written;
  let line = 0;
  let textStart = 0;
  let fence: Fence | undefined;
  for (const { 0: whole, 1: content = "", index: start } of text.matchAll(LINE)) {
    line++;
    const part = fence === undefined ? marked(content, line) : undefined;
    fence = fenceAfter(content, fence);
    if (part === undefined) continue;
    if (textStart < start) yield { kind: "text", text: text.slice(textStart, start) };
    yield part;
    textStart = start + whole.length;
  }
  if (textStart < text.length) yield { kind: "text", text: text.slice(textStart) };
}

function fenceAfter(content: string, open: Fence | undefined): Fence | undefined {
  const [, run, rest = ""] = FENCE.exec(content) ?? [];
  if (run === undefined) return open;
  const [mark = ""] = run;
  if (open === undefined) {
    // ```so``` is a line with inline code.
    const isInline = mark === "`" && rest.includes(mark);
    return isInline ? undefined : { mark, length: run.length };
  }
  const closes = mark === open.mark && run.length >= open.length && trimBlanks(rest) === "";
  return closes ? undefined : open;
}

function marked(content: string, line: number): TemplatePart | undefined {
  if (HEADING.test(content)) return { kind: "heading", line, title: trimBlanks(content.slice(2)) };
  const [opening, name] = DIRECTIVE.exec(content) ?? [];
  if (opening === undefined || name === undefined) return undefined;
  return { kind: "directive", line, name, value: trimBlanks(content.slice(opening.length)) };
}

/** Trims spaces and tabs at both ends. Cost: linear, whatever is between them. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text[start])) start++;
  while (end > start && isBlank(text[end - 1])) end--;
  return text.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}
