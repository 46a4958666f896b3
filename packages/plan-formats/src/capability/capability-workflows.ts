import type { ToolSet } from "ai";
import { callIn, type CapabilityTool, toolWith } from "./capability-tools.ts";
import { variableCapability } from "./variable-capability.ts";
import type { Finding, PlanFormat, ReadPlan } from "../../../plans/src/plan/plan-format.ts";
import * as limits from "../../../../src/limits.ts";
import { characters } from "../../../../src/internal.ts";
import { type Plan, type PlanCall, toolInputs } from "../../../../src/internal-tool.ts";
import {
  type CapabilityCall,
  callIn as readTag,
  OPENED,
  ownAttributes,
  skippedAt,
  tagAt,
  XmlFault,
} from "./capability-scanner.ts";

/** The plan format of capability workflows: XML tags that run in the written order. */
export const capabilityWorkflows: PlanFormat = {
  format: "capability-xml",
  mediaTypes: ["application/xml", "text/xml"],
  read: readCapabilities,
  fit: withKnownTools,
  tools: () => variableCapability,
};

/**
 * Replaces a workflow's capabilities with existing tools, and converts attributes to the types of the tools'
 * parameters, as in a model's text. Calls without a matching tool are unchanged.
 */
export async function withKnownTools(plan: Plan, tools: ToolSet): Promise<Plan> {
  const calls: readonly NamedCall[] = plan.calls;
  const known = new Map<string, CapabilityTool>();
  for (const name of new Set(calls.flatMap(({ tool, capability = tool }) => [tool, capability]))) {
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
    if (tool !== undefined)
      known.set(name, toolWith(name, await toolInputs.jsonSchemaOf(tool, name)));
  }
  const fitted = calls.map(({ capability: name, ...call }): PlanCall => {
    const { tool, parameters } = call;
    const action = name === undefined ? {} : { action: tool.slice(name.length + 1) };
    const { toolName, input } = callIn({ tool, name: name ?? tool, parameters, ...action }, known);
    return { ...call, tool: toolName, parameters: input };
  });
  return { ...plan, calls: fitted };
}

/** A call in a workflow. Its tool is the capability's name, plus its action if it has one. */
interface NamedCall extends PlanCall {
  /** The name without the action. Set if there is an action. */
  readonly capability?: string;
}

/** An XML declaration. It has no effect on decoded text. */
const DECLARATION = /^<\?xml\s[^<>]*\?>/;

/**
 * Reads a capability workflow as a plan. Its tags become calls, in the written order. Comments and blanks between tags
 * are skipped; anything else is an error. Reports one error for each tag and for each other part, with line and column
 * (in characters), both from 1.
 */
export function readCapabilities(source: string): ReadPlan {
  const calls: NamedCall[] = [];
  const findings: Finding[] = [];
  const scopes = new Map<string, CapabilityCall["scope"]>();
  const text = source.replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n");
  if (text.length > limits.maxRecordBytes) {
    const message = `A workflow has at most ${limits.maxRecordBytes} characters, this has ${text.length}.`;
    refuse(0, message);
    return { findings };
  }
  let at = DECLARATION.exec(text)?.[0].length ?? 0;
  for (at += lengthAt(skippedAt, text, at); at < text.length; at += lengthAt(skippedAt, text, at)) {
    if (findings.length >= limits.maxShownItems) break;
    const length = lengthAt(tagAt, text, at) || lengthOfStray(text, at);
    try {
      if (!OPENED.test(text.slice(at, at + 12))) throw new XmlFault(STRAY);
      const call = readTag(text.slice(at, at + length), /^<!/);
      if (calls.length === limits.maxPlanItems) {
        const message = `A workflow has at most ${limits.maxPlanItems} calls.`;
        refuse(at, message, "too_many_calls");
        break;
      }
      add(call, at);
    } catch (error) {
      if (!(error instanceof XmlFault)) throw error;
      refuse(at + error.offset, error.message);
    }
    at += length;
  }
  if (calls.length === 0 && findings.length === 0)
    refuse(0, "There is no capability tag in the text.");
  if (findings.length > 0) return { findings };
  const runNames = [...scopes].filter(([, scope]) => scope === "run").map(([name]) => name);
  const read = { format: "capability-xml", order: "written", outputs: [] } as const;
  return { plan: { ...read, calls, syntaxes: ["mustache"], runNames }, findings: [] };

  function add(call: CapabilityCall, offset: number): void {
    for (const name of call.writes) {
      const scope = scopes.get(name) ?? call.scope;
      scopes.set(name, scope);
      if (scope === call.scope) continue;
      refuse(offset, `${name} is kept in one call and not in another: write the scope in both.`);
    }
    const { tool, name, action, outputVariable } = call;
    calls.push({
      id: `call_${calls.length + 1}`,
      tool,
      ...(action === undefined ? {} : { capability: name }),
      ...ownAttributes(call.parameters),
      ...(outputVariable === undefined ? {} : { outputPath: `variable:${outputVariable}` }),
    });
  }

  function refuse(offset: number, message: string, code: Finding["code"] = "bad_xml"): void {
    const before = text.slice(0, offset).split("\n");
    const column = characters.codePointCount(before.at(-1) ?? "") + 1;
    findings.push({ code, message, line: before.length, column });
  }
}

function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}

/** What is no tag ends where the next one may begin. */
function lengthOfStray(text: string, at: number): number {
  const next = text.indexOf("<capability", at + 1);
  return (next < 0 ? text.length : next) - at;
}

const STRAY = "Only capability tags and comments are read.";
