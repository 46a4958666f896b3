import type { CallToolRequestParams, Tool } from "@modelcontextprotocol/server";
import { ByrefError } from "../../../src/errors.ts";
import { json } from "../../../src/internal.ts";
import { type WrapOptions, finderTool } from "../../../src/internal-tool.ts";
import * as limits from "./gateway-limits.ts";
import { type OfferedTool, ownTool } from "./offered-items.ts";

type Offered = ReadonlyMap<string, OfferedTool>;

/** Adds the tool that finds those that are not the gateway's own. Its description changes with the list only. */
export async function withFinder(offered: Offered, wrap: WrapOptions): Promise<Offered> {
  const others = [...offered.values()].filter(({ own }) => own === undefined);
  const known = others.map(({ definition: { name, description = "", inputSchema } }) => ({
    name,
    description,
    inputSchema,
  }));
  const how = `Call them with ${CALL_TOOL.name}.`;
  const finder = finderTool({ name: "find_tools", how, known, maxChars: limits.maxFinderChars });
  return new Map([...offered, [finder.name, await ownTool(finder, wrap)]]);
}

/** The tool that calls those which are not listed. It has no result of its own: see `calledBy`. */
export const CALL_TOOL = {
  name: "call_tool",
  description: "Call a tool that find_tools shows, with arguments that fit its inputSchema.",
  inputSchema: {
    type: "object",
    properties: { name: { type: "string" }, arguments: { type: "object" } },
    required: ["name"],
  },
} as const satisfies Tool;

/**
 * Returns the call that a call of `call_tool` stands for. Some clients send the arguments as a JSON text. Throws
 * `invalid_tool_input`.
 */
export function calledBy(params: CallToolRequestParams): CallToolRequestParams {
  const { name, arguments: given, ...others } = params.arguments ?? {};
  const input = typeof given === "string" ? json.jsonIn(given) : (given ?? {});
  const [unknown] = Object.keys(others);
  if (typeof name !== "string") throw wrong('"name" is not the name of a tool');
  if (name === CALL_TOOL.name) throw wrong("it does not call itself");
  if (unknown !== undefined) throw wrong(`"${unknown}" belongs into "arguments"`);
  if (!json.isObject(input)) throw wrong('"arguments" is not an object');
  return { ...params, name, arguments: input };
}

function wrong(why: string): ByrefError {
  const message = `${CALL_TOOL.name} takes {"name": "…", "arguments": {…}}: ${why}.`;
  return new ByrefError("invalid_tool_input", message);
}
