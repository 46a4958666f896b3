import { json } from "../../../../src/internal.ts";
import { codeOf, messageOf } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import type { Finding, FindingCode } from "../../../plans/src/plan/findings.ts";
import { applyDirective, type StepDirectives } from "./template-directives.ts";
import type { TemplateStep } from "./template-step.ts";
import { templateParts } from "./template-parts.ts";

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
