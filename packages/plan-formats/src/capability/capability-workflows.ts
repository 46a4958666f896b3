import { parseXml, XmlCdata, XmlElement, XmlError, type XmlNode, XmlText } from "@rgrove/parse-xml";
import type { ToolSet } from "ai";
import { callIn, type CapabilityTool, toolWith } from "./capability-tools.ts";
import { variableCapability } from "./variable-capability.ts";
import type { Finding, PlanFormat, ReadPlan } from "../../../plans/src/plan/plan-format.ts";
import * as limits from "../../../../src/limits.ts";
import { characters } from "../../../../src/internal.ts";
import { type Plan, type PlanCall, toolInputs } from "../../../../src/internal-tool.ts";
import {
  type CapabilityCall,
  callOf,
  ownAttributes,
  withBreaks,
  XmlFault,
} from "./capability-scanner.ts";

/** The plan format of capability workflows: XML tags that run in the written order. */
export const capabilityWorkflows: PlanFormat = {
  format: "capability-xml",
  mediaTypes: ["application/xml", "text/xml"],
  read: readCapabilities,
  fit: withKnownTools,
  own: { tools: () => variableCapability },
};

/**
 * Replaces a workflow's capabilities with existing tools, and converts attributes to the types of the tools'
 * parameters, as in a model's text. Calls without a matching tool, and plans of other formats, are unchanged.
 */
export async function withKnownTools(plan: Plan, tools: ToolSet): Promise<Plan> {
  if (plan.format !== "capability-xml") return plan;
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

/** An XML declaration. It has no effect on decoded text. */
const DECLARATION = /^<\?xml\s[^<>]*\?>/;

/**
 * Reads a capability workflow as a plan. Its tags become calls, in the written order. Comments and blanks
 * between tags are skipped; anything else is an error. Reports what is not XML, or else one error for each tag,
 * with line and column (in characters), both from 1.
 */
export function readCapabilities(source: string): ReadPlan {
  if (source.length > limits.maxRecordBytes) {
    const message = `A workflow has at most ${limits.maxRecordBytes} characters, this has ${source.length}.`;
    return { findings: [{ code: "bad_xml", message, line: 1, column: 1 }] };
  }
  // The parser would also normalise line breaks, in time quadratic in their number.
  const text = source
    .replace(/^\uFEFF/, "")
    .replaceAll(/\r\n?/g, "\n")
    .replace(DECLARATION, (found) => found.replaceAll(/[^\n]/g, " "));
  const nodes = nodesIn(text);
  if (!Array.isArray(nodes)) return { findings: [nodes] };
  const calls: NamedCall[] = [];
  const findings: Finding[] = [];
  const scopes = new Map<string, CapabilityCall["scope"]>();
  for (const node of nodes) {
    if (findings.length >= limits.maxShownItems) break;
    const isText = node instanceof XmlText && !(node instanceof XmlCdata);
    const blanks = isText ? node.text.length - node.text.trimStart().length : 0;
    if (isText && blanks === node.text.length) continue;
    const offset = node.start - OPENING.length + blanks;
    try {
      if (!(node instanceof XmlElement) || node.name !== "capability") throw new XmlFault(STRAY);
      const call = callOf(node, attributesOf(node, text));
      if (calls.length < limits.maxPlanItems) add(call, offset);
      else {
        const message = `A workflow has at most ${limits.maxPlanItems} calls.`;
        refuse(offset, message, "too_many_calls");
        break;
      }
    } catch (error) {
      if (!(error instanceof XmlFault)) throw error;
      refuse(error.offset === undefined ? offset : error.offset - OPENING.length, error.message);
    }
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
    findings.push({ code, message, ...placeOf(text, offset) });
  }
}

/** A call in a workflow. Its tool is the capability's name, plus its action if it has one. */
interface NamedCall extends PlanCall {
  /** The name without the action. Set if there is an action. */
  readonly capability?: string;
}

const OPENING = "<workflow>\n";
const STRAY = "Only capability tags and comments are read.";

/** What is in a workflow. Offsets are after `OPENING`. */
function nodesIn(text: string): XmlNode[] | Finding {
  const options = { preserveCdata: true, includeOffsets: true };
  try {
    return parseXml(`${OPENING}${text}</workflow>`, options).root?.children ?? [];
  } catch (error) {
    if (error instanceof RangeError)
      return { code: "bad_xml", message: "The tags are nested too deeply.", line: 1, column: 1 };
    if (!(error instanceof XmlError)) throw error;
    const { message, line } = error;
    // A reference without an end reaches into the closing tag.
    const column = Math.min(error.column, [...(text.split("\n")[line - 2] ?? "")].length + 1);
    // The message has the position and an excerpt at its end.
    const said = message.slice(0, message.lastIndexOf(" (line "));
    const isStray = said.endsWith(" element workflow");
    return { code: "bad_xml", message: isStray ? STRAY : `${said}.`, line: line - 1, column };
  }
}

/** The attributes with their line breaks. */
function attributesOf({ start, end, attributes }: XmlElement, text: string) {
  const source = text.slice(start - OPENING.length, end - OPENING.length);
  const escaped = withBreaks(source);
  return escaped === source ? attributes : parseXml(escaped).root?.attributes;
}

/** Line and column of an offset. Cost: linear in the text before it, at most `maxShownItems` times. */
function placeOf(text: string, offset: number): { line: number; column: number } {
  let line = 1;
  let lineStart = 0;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) {
    line++;
    lineStart = at + 1;
  }
  return { line, column: characters.codePointCount(text.slice(lineStart, offset)) + 1 };
}
