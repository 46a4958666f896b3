import type { Tool } from "@modelcontextprotocol/client";
import { dynamicTool, jsonSchema, type JSONSchema7, tool, type ToolSet } from "ai";
import * as z from "zod";
import type { ToolOffer } from "../../packages/gateway/src/configuration.ts";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import { isObject, type Json } from "../../src/value/json.ts";
import { startGateway } from "./gateway.ts";
import { RawServer } from "./raw-server.ts";
import { Conversation, resultShown } from "./turn.ts";

const asked = finish("tool-calls");
const done = [text("Done."), finish()];

/** What a server lists. */
export type ListedServer = { readonly name: string; readonly tools: readonly Tool[] };

interface PromptChars {
  readonly first: number;
  /** Of ten turns, three of which call another tool, which is found first if tools are on demand. */
  readonly all: number;
}

/** Returns the characters of messages and tools that a model of an agent with the servers' tools receives. */
export async function promptChars(
  servers: readonly ListedServer[],
  isOnDemand: boolean,
): Promise<PromptChars> {
  const tools: ToolSet = {};
  for (const server of servers) {
    for (const { name, description = "", inputSchema } of server.tools) {
      const schema = jsonSchema(inputSchema as JSONSchema7);
      const execute = async () => "done";
      tools[`${server.name}_${name}`] = dynamicTool({ description, inputSchema: schema, execute });
    }
  }
  const names = Object.keys(tools);
  const agent = { name: "clerk", description: "", instructions: "Help.", tools };
  const conversation = new Conversation({
    agent: isOnDemand ? agent : { ...agent, toolSearch: false },
  });
  const sent: number[] = [];
  for (let turn = 0; turn < 10; turn++) {
    const name = turn % 3 === 1 ? (names[Math.floor((turn * names.length) / 10)] ?? "") : undefined;
    const query = name?.replaceAll("_", " ") ?? "";
    const finding = isOnDemand ? [[toolCall("find_tools", { query }), asked]] : [];
    const calling = name === undefined ? [] : [...finding, [toolCall(name, {}), asked]];
    const { calls } = await conversation.say({ steps: [...calling, done] });
    // It was found by the call before.
    const given = calls.at(-2)?.tools ?? [];
    if (name !== undefined && !given.some((one) => one.name === name)) throw new Error(name);
    sent.push(...calls.map((call) => JSON.stringify([call.prompt, call.tools]).length));
  }
  return { first: sent[0] ?? 0, all: sent.reduce((sum, chars) => sum + chars, 0) };
}

/** Returns the characters of the list that a client gets from the gateway in front of the servers. */
export async function listChars(
  servers: readonly ListedServer[],
  offer: ToolOffer,
): Promise<number> {
  const behind = servers.map(({ name, tools }) => {
    return { name, make: () => new RawServer({ "tools/list": () => ({ tools }) }) };
  });
  const { client, gateway } = await startGateway(behind, { tools: offer });
  const { tools } = await client.listTools();
  await gateway.close();
  return JSON.stringify(tools).length;
}

interface Looking {
  /** Characters of the figure in the handle. */
  readonly chars: number;
  /** The tokens that it says. */
  readonly tokens: number;
  /** Characters of all results of `read_variable` that show the value. */
  readonly read: number;
}

/** Returns what the handle of a value says about reading it, and what that costs. */
export async function costOfLooking(value: Json): Promise<Looking> {
  const give = tool({ inputSchema: z.object({}), execute: async () => value });
  const conversation = new Conversation({ tools: { give } });
  let calls = 0;
  const shown = async (name: string, input: Json) => {
    const id = `call_${++calls}`;
    const steps = [[toolCall(name, input, { id }), asked], done];
    const output: unknown = resultShown(await conversation.say({ steps }), 1, id);
    return isObject(output) ? output : {};
  };
  const { tokens, ...handle } = await shown("give", {});
  let read = 0;
  for (let next: Json | undefined = { name: String(handle.$var) }; next !== undefined;) {
    const piece = await shown("read_variable", next);
    read += JSON.stringify(piece).length;
    next = piece.next as Json | undefined;
  }
  return { chars: `,"tokens":${String(tokens)}`.length, tokens: Number(tokens), read };
}
