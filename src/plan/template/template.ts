import { compact } from "../../value/json.ts";
import { codeOf, messageOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { Finding, FindingCode } from "../plan.ts";
import {
  type Input,
  applyDirective,
  type Output,
  type StepDirectives,
  type TemplateWriteMode,
  type ToolUse,
} from "./template-directives.ts";
import { type TemplatePart, templateParts } from "./template-parts.ts";

/** Prompts in Markdown, with what each is given and where its answer goes. */
export interface Template {
  /** A `# ` heading that stands alone before the first step. */
  readonly name?: string;
  /** One or more, which run in this order. */
  readonly steps: readonly TemplateStep[];
}

/** One question to a model. */
export interface TemplateStep {
  /** Its `## ` heading; the text before the first of them has none. */
  readonly title?: string;
  /** Where it begins, from 1. */
  readonly line: number;
  readonly inputs: readonly Input[];
  readonly outputs: readonly Output[];
  /** How outputs are written. Default: `append`. */
  readonly writeMode: TemplateWriteMode;
  /** A line above the answer where it is written; `{today}` as written. */
  readonly header?: string;
  readonly tools: readonly ToolUse[];
  /** Every line that is no directive and no step's heading, as it is, line breaks included. */
  readonly prompt: string;
}

type ReadTemplate =
  | { readonly template: Template; readonly findings: readonly [] }
  | { readonly template?: undefined; readonly findings: readonly Finding[] };

/**
 * The template, or all that is wrong with it, each with its line. A text over a bound (headings:
 * `maxPlanCalls`, directives: 1,000) is read no further. Cost: linear.
 */
export function readTemplate(text: string): ReadTemplate {
  const reader = new TemplateReader();
  for (const part of templateParts(text)) {
    if (!reader.take(part)) return { findings: reader.findings };
  }
  return reader.end();
}

/** A step that is being read. */
interface Draft extends StepDirectives {
  readonly title?: string;
  readonly line: number;
  /** Where its first directive stands. */
  firstDirective?: number;
  prompt: string;
}

class TemplateReader {
  readonly #drafts: Draft[] = [];
  readonly findings: Finding[] = [];
  #current = draftAt(1);
  #directives = 0;

  /** False: enough is wrong, the rest need not be read. */
  take(part: TemplatePart): boolean {
    if (part.kind === "heading") return this.#begin(part);
    if (part.kind === "directive") return this.#follow(part);
    this.#current.prompt += part.text;
    return true;
  }

  end(): ReadTemplate {
    this.#drafts.push(this.#current);
    const [before, ...steps] = this.#drafts;
    const name = steps.length > 0 ? titleAlone(before) : undefined;
    const isStep = before !== undefined && name === undefined && hasPrompt(before);
    if (!isStep) this.#requireNoDirectives(before);
    const drafts = isStep ? [before, ...steps] : steps;
    for (const draft of drafts) {
      if (!hasPrompt(draft)) this.#find("bad_plan", draft.line, "The step has no prompt.");
    }
    if (drafts.length === 0) this.#find("bad_plan", 1, "The template has no prompt.");
    if (this.findings.length > 0) return { findings: this.findings.toSorted(byLine) };
    const template = { ...compact({ name }), steps: drafts.map(stepFrom) };
    return { template, findings: [] };
  }

  #begin({ title, line }: Extract<TemplatePart, { kind: "heading" }>): boolean {
    // The text before the first heading is one of them, the current step is not.
    if (this.#drafts.length === limits.maxPlanCalls) {
      const message = `A template has at most ${limits.maxPlanCalls} steps; here begins another.`;
      this.#find("too_many_calls", line, message);
      return false;
    }
    this.#drafts.push(this.#current);
    this.#current = draftAt(line, title);
    return true;
  }

  #follow({ name, value, line }: Extract<TemplatePart, { kind: "directive" }>): boolean {
    this.#current.firstDirective ??= line;
    this.#directives++;
    const maximum = limits.maxTemplateDirectives;
    if (this.#directives > maximum) {
      const message = `A template has at most ${maximum} directives; here is another.`;
      this.#find("bad_directive", line, message);
      return false;
    }
    try {
      applyDirective(this.#current, name, { value, line });
    } catch (error) {
      if (codeOf(error) === "internal") throw error;
      this.findings.push({
        code: "bad_directive",
        at: `@${name.slice(0, MAX_SHOWN_NAME_CHARS)}`,
        line,
        message: messageOf(error),
      });
    }
    return true;
  }

  #requireNoDirectives(before: Draft | undefined): void {
    const line = before?.firstDirective;
    if (line === undefined) return;
    const message = "No prompt goes with it: put it below a step's heading.";
    this.#find("bad_directive", line, message);
  }

  #find(code: FindingCode, line: number, message: string): void {
    this.findings.push({ code, line, message });
  }
}

const MAX_SHOWN_NAME_CHARS = 40;

function draftAt(line: number, title?: string): Draft {
  const heading = title === undefined ? {} : { title };
  return { ...heading, line, prompt: "", inputs: [], outputs: new Map(), tools: new Map() };
}

function byLine(one: Finding, other: Finding): number {
  return (one.line ?? 0) - (other.line ?? 0);
}

function hasPrompt({ prompt }: Draft): boolean {
  return prompt.trim() !== "";
}

/** The heading of the whole text, if nothing else but empty lines is there. */
function titleAlone(draft: Draft | undefined): string | undefined {
  const [, title] = /^#[ \t](.*)$/.exec(draft?.prompt.trim() ?? "") ?? [];
  return title?.trim();
}

function stepFrom(draft: Draft): TemplateStep {
  const { title, line, inputs, outputs, tools, writeMode = "append", header, prompt } = draft;
  return {
    ...compact({ title }),
    line,
    inputs,
    outputs: [...outputs.values()],
    writeMode,
    ...compact({ header }),
    tools: [...tools.values()],
    prompt,
  };
}
