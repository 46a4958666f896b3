import { json } from "../../../../src/internal.ts";
import { codeOf, messageOf } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import type { Finding, FindingCode } from "../../../plans/src/plan/findings.ts";
import { applyDirective, type StepDirectives } from "./template-directives.ts";
import type { TemplateStep } from "./template-step.ts";
import { type TemplatePart, templateParts } from "./template-parts.ts";

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
  const reader = new TemplateReader();
  for (const part of templateParts(text)) {
    if (!reader.take(part)) return { findings: reader.findings };
  }
  return reader.end();
}

interface Draft extends StepDirectives {
  readonly title?: string;
  readonly line: number;
  /** The line of its first directive. */
  firstDirective?: number;
  prompt: string;
}

class TemplateReader {
  readonly #drafts: Draft[] = [];
  readonly findings: Finding[] = [];
  #current = draftAt(1);
  #directives = 0;

  /** Adds a part. Returns false if there are enough faults to stop reading. */
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
    const stray = isStep ? undefined : before?.firstDirective;
    if (stray !== undefined)
      this.#find("bad_directive", stray, "It has no prompt: put it below a step's heading.");
    const drafts = isStep ? [before, ...steps] : steps;
    for (const draft of drafts) {
      if (!hasPrompt(draft)) this.#find("bad_plan", draft.line, "The step has no prompt.");
    }
    if (drafts.length === 0) this.#find("bad_plan", 1, "The template has no prompt.");
    if (this.findings.length > 0) {
      const byLine = this.findings.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
      return { findings: byLine };
    }
    const template = { ...json.compact({ name }), steps: drafts.map(stepFrom) };
    return { template, findings: [] };
  }

  #begin({ title, line }: Extract<TemplatePart, { kind: "heading" }>): boolean {
    // The text before the first heading is among the drafts; the current step is not.
    if (this.#drafts.length === limits.maxPlanItems) {
      const message = `A template has at most ${limits.maxPlanItems} steps; this is one more.`;
      this.#find("too_many_calls", line, message);
      return false;
    }
    this.#drafts.push(this.#current);
    this.#current = draftAt(line, title);
    return true;
  }

  #follow({ name, value, line }: Extract<TemplatePart, { kind: "directive" }>): boolean {
    this.#current.firstDirective ??= line;
    if (++this.#directives > limits.maxItems) {
      const message = `A template has at most ${limits.maxItems} directives; this is one more.`;
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

  #find(code: FindingCode, line: number, message: string): void {
    this.findings.push({ code, line, message });
  }
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
