import { asSchema, dynamicTool, jsonSchema } from "@ai-sdk/provider-utils";
import type { JSONSchema7 } from "ai";
import type { Tool } from "@modelcontextprotocol/server";
import { messageOf } from "../../../src/errors.ts";
import { fitScalars } from "../../mcp/src/fit-scalars.ts";
import { json } from "../../../src/internal.ts";
import {
  type WrapOptions,
  type WrappedTool,
  wrapRuntimeTool,
  wrapTool,
} from "../../../src/internal-tool.ts";
import { policyOf } from "../../mcp/src/server-rules.ts";
import { textsFor } from "./json-text.ts";
import type { OwnTool } from "./show-variable.ts";
import type { LastingNames } from "./unique-names.ts";
import type { Upstream } from "./upstream.ts";

/** A tool as a client sees it, and how it is called. */
export interface OfferedTool {
  readonly definition: Tool;
  readonly wrapped: WrappedTool;
  /** Undefined for a tool of this process. */
  readonly from?: ToolOfServer;
  /** The gateway's own tool. */
  readonly own?: OwnTool;
  /** True for a tool of this process that is not the gateway's own, such as an agent's. */
  readonly isLocal?: true;
}

/** Wraps tools that run in this process, by their names. */
export type LocalTools = (wrap: WrapOptions) => Promise<ReadonlyMap<string, WrappedTool>>;

/** A tool as its server lists it. */
export interface ToolOfServer {
  readonly upstream: Upstream;
  readonly tool: Tool;
}

/** Calls a server's tool; the result is the value to save. */
type CallServer = (
  from: ToolOfServer,
  input: Readonly<Record<string, unknown>>,
  toolCallId: string,
) => Promise<unknown>;

export interface OfferingOptions {
  readonly wrap: WrapOptions;
  readonly local: ReadonlyMap<string, WrappedTool>;
  readonly own: readonly OwnTool[];
  readonly names: LastingNames;
  readonly call: CallServer;
}

/**
 * Returns the tools by the names that a client sees: those of this process, the servers' in their order, then
 * the gateway's own, whose names nobody else can have.
 */
export async function offeredTools(
  listed: readonly ToolOfServer[],
  options: OfferingOptions,
): Promise<ReadonlyMap<string, OfferedTool>> {
  const local = [...options.local.values()];
  const given = [
    ...local.map(({ name }) => ({ server: "agent", name, isLocal: true as const })),
    ...listed.map(({ upstream, tool }) => ({ server: upstream.server.name, name: tool.name })),
  ];
  const names = options.names.of(given).values();
  const next = () => names.next().value ?? "";
  const tools = await Promise.all([
    ...local.map((tool) => localTool(next(), tool)),
    ...listed.map((from) => readableTool(next(), from, options)),
    ...options.own.map((tool) => ownTool(tool, options)),
  ]);
  const offered = tools.filter((tool) => tool !== undefined);
  return new Map(offered.map((tool) => [tool.definition.name, tool]));
}

/** Undefined for a tool whose schema cannot be read: the others are offered. */
async function readableTool(name: string, from: ToolOfServer, options: OfferingOptions) {
  try {
    return await serversTool(name, from, options);
  } catch (error) {
    const { upstream, tool } = from;
    upstream.leaveOut({ kind: "tool", name: tool.name, why: messageOf(error) });
    return undefined;
  }
}

async function serversTool(
  name: string,
  from: ToolOfServer,
  { wrap, call }: OfferingOptions,
): Promise<OfferedTool> {
  const { upstream, tool } = from;
  // Results are handles, and tasks are calls like any other.
  const { outputSchema: _outputSchema, execution: _execution, ...definition } = tool;
  const schema = tool.inputSchema as JSONSchema7;
  const runnable = dynamicTool({
    // The server checks its own inputs.
    inputSchema: jsonSchema(schema, {
      validate: (input) => ({ success: true, value: fitScalars(input, schema) }),
    }),
    execute: (input, { toolCallId }) => call(from, json.isObject(input) ? input : {}, toolCallId),
  });
  const wrapped = await wrapTool(name, runnable, {
    ...wrap,
    policies: { [name]: policyOf(upstream.server, tool.name) },
    textFor: textsFor(schema, wrap.store),
  });
  const inputSchema = (await shownSchema(wrapped)) as Tool["inputSchema"];
  const meta = definition._meta && { _meta: withoutView(definition._meta) };
  return { definition: { ...definition, ...meta, name, inputSchema }, wrapped, from };
}

/** A view of a server could use everything behind the gateway. Keeps whom the tool is for. */
function withoutView(meta: NonNullable<Tool["_meta"]>): NonNullable<Tool["_meta"]> {
  const text = JSON.stringify(meta, (key, value: unknown) =>
    key.endsWith("resourceUri") ? undefined : value,
  );
  // Only members are missing.
  return JSON.parse(text) as NonNullable<Tool["_meta"]>;
}

async function localTool(name: string, wrapped: WrappedTool): Promise<OfferedTool> {
  const { description } = wrapped.shown;
  const inputSchema = (await shownSchema(wrapped)) as Tool["inputSchema"];
  const described = typeof description === "string" ? { description } : {};
  return { definition: { name, ...described, inputSchema }, wrapped, isLocal: true };
}

async function ownTool(tool: OwnTool, { wrap }: OfferingOptions): Promise<OfferedTool> {
  const wrapped = await wrapRuntimeTool(tool, wrap);
  const inputSchema = (await shownSchema(wrapped)) as Tool["inputSchema"];
  const readOnly = tool.effects === undefined && tool.writes === undefined;
  const annotations = { readOnlyHint: readOnly, openWorldHint: false };
  return {
    definition: {
      name: tool.name,
      description: tool.description,
      inputSchema,
      annotations,
      ...(tool.meta && { _meta: tool.meta }),
    },
    wrapped,
    own: tool,
  };
}

async function shownSchema({ shown }: WrappedTool) {
  return asSchema(shown.inputSchema).jsonSchema;
}
