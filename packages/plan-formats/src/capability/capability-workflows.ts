import type { ToolSet } from "ai";
import { coerceParameters, parametersIn } from "./capability-tools.ts";
import { variableCapability } from "./variable-capability.ts";
import type { PlanFormat } from "../../../plans/src/plan/plan-format.ts";
import type { Finding, ReadPlan } from "../../../plans/src/plan/findings.ts";
import * as limits from "../../../../src/limits.ts";
import { characters } from "../../../../src/internal.ts";
import { type Plan, type PlanCall, toolInputs } from "../../../../src/internal-tool.ts";
import {
  type CapabilityCall,
  type CapabilityTag,
  callOf,
  ownAttributes,
  readTag,
  withLineFeeds,
  XmlFault,
} from "./capability-call.ts";
import { endsName, OPENING, TagBounds } from "./tag-bounds.ts";

/** The plan format of capability workflows: XML tags that run in the written order. */
export const capabilityWorkflows: PlanFormat = {
  format: "capability-xml",
  mediaTypes: ["application/xml", "text/xml"],
  read: readCapabilities,
  fit: withKnownTools,
  own: {
    plain: Object.fromEntries(
      variableCapability.map(({ name, inputSchema }) => [name, { inputSchema }]),
    ),
    tools: () => variableCapability,
  },
};

/**
 * Replaces a workflow's capabilities with existing tools, and converts attributes to the types of the tools'
 * parameters. `web` with the action `generate` is the tool `web_generate`, or else `web`, which receives the
 * `action` if it has such a parameter. Calls without a matching tool, and plans of other formats, are
 * unchanged.
 */
export async function withKnownTools(plan: Plan, tools: ToolSet): Promise<Plan> {
  if (plan.format !== "capability-xml") return plan;
  return { ...plan, calls: await Promise.all(plan.calls.map((call) => withTool(call, tools))) };
}

async function withTool(named: NamedCall, tools: ToolSet): Promise<PlanCall> {
  const { capability, ...call } = named;
  const resolved = await resolveTool(call, capability, tools);
  const tool = toolNamed(resolved.tool, tools);
  if (tool === undefined) return call;
  return {
    ...resolved,
    parameters: coerceParameters(
      resolved.parameters,
      await toolInputs.jsonSchemaOf(tool, resolved.tool),
    ),
  };
}

/**
 * Names and actions may contain underscores. If the exact name is unknown, the longest matching tool name
 * counts.
 */
async function resolveTool(
  call: PlanCall,
  capability: string | undefined,
  tools: ToolSet,
): Promise<PlanCall> {
  if (toolNamed(call.tool, tools) !== undefined) return call;
  if (capability !== undefined && toolNamed(capability, tools) !== undefined) {
    return (await withAction(call, capability, tools)) ?? { ...call, tool: capability };
  }
  const end = call.tool.length;
  for (let at = call.tool.lastIndexOf("_", end); at > 0; at = call.tool.lastIndexOf("_", at - 1)) {
    const resolved = await withAction(call, call.tool.slice(0, at), tools);
    if (resolved !== undefined) return resolved;
  }
  return call;
}

/**
 * Calls the tool with the rest of the name as its `action`. Undefined if the tool, the rest or the parameter
 * does not exist.
 */
async function withAction(
  call: PlanCall,
  toolName: string,
  tools: ToolSet,
): Promise<PlanCall | undefined> {
  const action = call.tool.slice(toolName.length + 1);
  const tool = toolNamed(toolName, tools);
  if (tool === undefined || action === "") return undefined;
  const takesAction = parametersIn(await toolInputs.jsonSchemaOf(tool, toolName)).some(
    ({ name }) => name === "action",
  );
  return takesAction
    ? { ...call, tool: toolName, parameters: { action, ...call.parameters } }
    : undefined;
}

function toolNamed(name: string, tools: ToolSet): ToolSet[string] | undefined {
  return Object.hasOwn(tools, name) ? tools[name] : undefined;
}

const UNCLOSED = new XmlFault("The tag is not closed: end it with /> or </capability>.");

/** An XML declaration. It has no effect on decoded text. */
const DECLARATION = /^<\?xml\s[^<>]*\?>/;

/**
 * Reads a capability workflow as a plan. Its tags become calls, in the written order. Comments and blanks
 * between tags are skipped; anything else is an error. Reports all errors at once, one per tag, with line and
 * column (in characters), both from 1.
 */
export function readCapabilities(source: string): ReadPlan {
  if (source.length > limits.maxRecordBytes) {
    const message = `A workflow has at most ${limits.maxRecordBytes} characters, this has ${source.length}.`;
    return { findings: [{ code: "bad_xml", message, line: 1, column: 1 }] };
  }
  const text = withLineFeeds(source.startsWith("\uFEFF") ? source.slice(1) : source);
  const calls: NamedCall[] = [];
  const findings: Finding[] = [];
  const scopes = new Map<string, CapabilityCall["scope"]>();
  for (const { offset, read } of piecesOf(text)) {
    if (findings.length >= limits.maxShownItems) break;
    try {
      const call = callOf(read());
      if (calls.length < limits.maxPlanItems) add(call, offset);
      else {
        const message = `A workflow has at most ${limits.maxPlanItems} calls.`;
        refuse(offset, message, "too_many_calls");
        break;
      }
    } catch (error) {
      if (!(error instanceof XmlFault)) throw error;
      refuse(offset + error.offset, error.message);
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

interface Piece {
  readonly offset: number;
  /** Throws XmlFault. */
  readonly read: () => CapabilityTag;
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

function* piecesOf(text: string): Generator<Piece> {
  let offset = DECLARATION.exec(text)?.[0].length ?? 0;
  for (;;) {
    offset = skipBlanks(text, offset);
    if (offset === text.length) return;
    if (startsTag(text, offset)) {
      const { read, length } = tagAt(text, offset);
      yield { offset, read };
      offset += length;
    } else if (text.startsWith("<!--", offset)) {
      const end = text.indexOf("-->", offset + 4);
      if (end < 0) yield faulty(offset, "The comment is not closed: end it with -->.");
      offset = end < 0 ? text.length : end + 3;
    } else {
      yield faulty(offset, strayMessage(text, offset));
      offset = nextTag(text, offset);
    }
  }
}

function skipBlanks(text: string, start: number): number {
  let at = start;
  while (at < text.length && " \t\n".includes(text.charAt(at))) at++;
  return at;
}

function startsTag(text: string, offset: number): boolean {
  return text.startsWith(OPENING, offset) && endsName(text.charCodeAt(offset + OPENING.length));
}

function nextTag(text: string, start: number): number {
  let at = text.indexOf(OPENING, start);
  while (at >= 0 && !startsTag(text, at)) at = text.indexOf(OPENING, at + 1);
  return at < 0 ? text.length : at;
}

function tagAt(text: string, offset: number): Pick<Piece, "read"> & { readonly length: number } {
  const bounds = new TagBounds();
  let step: ReturnType<TagBounds["feed"]> = "inside";
  let at = offset + OPENING.length;
  while (step === "inside" && at < text.length) step = bounds.feed(text.charCodeAt(at++));
  const source = text.slice(offset, step === "next" ? at - 1 : at);
  const { fault } = bounds;
  const read = () => {
    if (fault !== undefined) throw firstFault(source.slice(0, fault.offset + 1), fault);
    if (step === "end") return readTag(source);
    // Later errors only follow from the tag not being closed.
    throw firstFault(`${source}</capability>`, UNCLOSED, source.length);
  };
  return { read, length: source.length };
}

/**
 * Returns an earlier error of the parser if there is one, for example a missing quote. It is more precise
 * than the known error.
 */
function firstFault(source: string, known: XmlFault, limit = known.offset): XmlFault {
  try {
    readTag(source);
  } catch (error) {
    if (!(error instanceof XmlFault)) throw error;
    if (error.offset < limit) return error;
  }
  return known;
}

function faulty(offset: number, message: string): Piece {
  const read = () => {
    throw new XmlFault(message);
  };
  return { offset, read };
}

function strayMessage(text: string, offset: number): string {
  if (text.startsWith("<!", offset))
    return "Declarations and CDATA have no place between the tags.";
  if (text.startsWith("<?", offset)) return "Processing instructions are not read.";
  if (text.startsWith("</", offset)) return "There is no open tag that this one closes.";
  if (text.startsWith("<", offset)) return "Only capability tags and comments are read.";
  return "Only capability tags and comments are read, no text between them.";
}
