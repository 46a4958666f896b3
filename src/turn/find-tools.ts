import type { ModelMessage, ToolSet } from "ai";
import * as z from "zod";
import * as limits from "../limits.ts";
import { type RuntimeTool, runtimeTool } from "../tool/runtime-tool.ts";
import { CHARS_PER_TOKEN } from "../tool/tool-output.ts";
import type { WrappedTool } from "../tool/wrapped-tool.ts";
import { clip, inOneLine } from "../value/characters.ts";
import { isObject } from "../value/json.ts";
import type { Agent } from "./agent.ts";

/** Tools whose definitions a model receives once it has found them. */
export interface DeferredTools {
  readonly names: ReadonlySet<string>;
  /** The name of the tool that finds them: that of the SDK's `toolSearch()`, if the agent has one. */
  readonly finder: string;
}

type Wrapped = ReadonlyMap<string, WrappedTool>;

const MAX_FOUND = 5;
/** Characters that a search reads of all descriptions together, of each the same. */
const SEARCHED_CHARS = 1_000_000;
const MAX_LINE_CHARS = 80;

/**
 * Returns the tools to find on demand: all, if there are too many, else those with the SDK's `deferLoading`. None for
 * calls as tags, whose instructions have the tools.
 */
export function deferredTools(agent: Agent, wrapped: Wrapped): DeferredTools {
  const { tools, toolSearch = {}, toolCalls, contextTokens = limits.contextTokens } = agent;
  const finder = Object.keys(tools).find((name) => isSearch(tools[name])) ?? "find_tools";
  const isTaken = Object.hasOwn(tools, finder) && !isSearch(tools[finder]);
  if (toolSearch === false || typeof toolCalls === "object" || isTaken)
    return { names: new Set(), finder };
  const { tools: most = limits.maxShownTools, share = 0.1 } = toolSearch;
  const isOwn = (name: string) => name !== finder && tools[name]?.type !== "provider";
  const names = [...wrapped.keys()].filter(isOwn);
  const isMuch = names.length > most || charsOf(wrapped) > contextTokens * CHARS_PER_TOKEN * share;
  const isDeferred = (name: string) => isMuch || tools[name]?.deferLoading === true;
  return { names: new Set(names.filter(isDeferred)), finder };
}

function charsOf(wrapped: Wrapped): number {
  const definitions = Array.from(wrapped, ([name, { shown }]) => {
    const { description, inputSchema } = shown;
    const schema = isObject(inputSchema) && "jsonSchema" in inputSchema && inputSchema.jsonSchema;
    return JSON.stringify([name, description, schema]).length;
  });
  return definitions.reduce((sum, chars) => sum + chars, 0);
}

/** How the SDK marks a tool that `toolSearch()` returns, and keeps its options. It has no functions to read them. */
const SEARCH = "vercel.ai.toolSearch";

function optionOf(tool: unknown, name = ""): unknown {
  return isObject(tool) ? Reflect.get(tool, Symbol.for(SEARCH + name)) : undefined;
}

function isSearch(tool: unknown): boolean {
  return optionOf(tool) === true;
}

/** The tool with which a model finds others, if there are any. Its parameter has a line for each, in their order. */
export function findTools({ names, finder }: DeferredTools, tools: ToolSet) {
  if (names.size === 0 && !isSearch(tools[finder])) return [];
  const known = [...names].map((name) => {
    const { description } = tools[name] ?? {};
    return { name, description: typeof description === "string" ? description : "" };
  });
  const how = "They can be called from the next step on.";
  // The application's own search, if there is one, and how many tools it may find.
  const most = optionOf(tools[finder], ".maxResults");
  const search = optionOf(tools[finder], ".search") as Finder["search"];
  const options = { search, ...(typeof most === "number" && { most }) };
  return [finderTool({ name: finder, how, known, ...options })];
}

interface Findable {
  readonly name: string;
  readonly description: string;
}

interface Finder {
  readonly name: string;
  /** What a model does with tools that it has found, a sentence. */
  readonly how: string;
  /** The tools, as a model is shown those that it has found. */
  readonly known: readonly Findable[];
  readonly most?: number;
  readonly search?: ((options: Query) => unknown) | undefined;
  /** Characters of the lines of all tools. Default: a line for each. */
  readonly maxChars?: number;
}

export function finderTool({ name, how, known, ...options }: Finder): RuntimeTool {
  const { most = MAX_FOUND, search = matchesFor, maxChars = Infinity } = options;
  const all = known.map((one) => {
    const start = one.description.slice(0, SEARCHED_CHARS / known.length);
    return clip(inOneLine(`${one.name}: ${start}`), Math.max(MAX_LINE_CHARS, one.name.length));
  });
  let chars = 0;
  const lines = all.filter((line) => (chars += line.length) <= maxChars);
  const more = all.length - lines.length;
  const there = ["There are:", ...lines, ...(more > 0 ? [`… and ${more} more.`] : [])].join("\n");
  return runtimeTool({
    name,
    description: `Shows up to ${most} more tools, by their names or by words. ${how}`,
    // Providers refuse more than 1,024 characters of a tool's description, and clients cut it; not a parameter's.
    inputSchema: z.object({ query: z.string().min(1).describe(there) }),
    offeredFrom: "start",
    async execute({ query }) {
      const found: unknown = await search({ query, tools: known.map((one) => ({ ...one })) });
      const wanted = new Set<unknown>(Array.isArray(found) ? found : []);
      const ranked = [...wanted].flatMap((wish) => known.filter((one) => one.name === wish));
      return { output: { tools: ranked.slice(0, most).map((one) => ({ ...one })) } };
    },
  });
}

interface Query {
  readonly query: string;
  readonly tools: readonly Findable[];
}

/** Ranks by the words that the query has in common with a name, which count twice, and with a description. */
function matchesFor({ query, tools }: Query): readonly string[] {
  const words = new Set(wordsIn(query));
  const scored = tools.map(({ name, description }) => {
    const start = description.slice(0, SEARCHED_CHARS / tools.length);
    const [own, told] = [wordsIn(name), wordsIn(start)];
    const shared = (some: readonly string[]) => some.filter((word) => words.has(word)).length;
    const score = 2 * shared(own) + shared([...new Set(told)]) + (query.includes(name) ? 100 : 0);
    return { name, score };
  });
  const matches = scored.filter(({ score }) => score > 0).toSorted((a, b) => b.score - a.score);
  return matches.map(({ name }) => name);
}

function wordsIn(text: string): readonly string[] {
  const parts = text.replaceAll(/([a-z\d])([A-Z])/gu, "$1 $2");
  return parts.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Returns the deferred tools that were found or called, in that order: first those known, then those in messages. */
export function foundTools(
  { names, finder }: DeferredTools,
  messages: readonly ModelMessage[],
  known: readonly string[],
): readonly string[] {
  if (names.size === 0) return [];
  const found = new Set(known);
  for (const { content } of messages) {
    for (const part of typeof content === "string" ? [] : content) {
      if (part.type === "tool-call") found.add(part.toolName);
      if (part.type !== "tool-result" || part.toolName !== finder) continue;
      const { output } = part;
      const value: unknown = output.type === "json" ? output.value : undefined;
      const tools: unknown = isObject(value) ? value.tools : undefined;
      for (const tool of Array.isArray(tools) ? tools : [])
        if (isObject(tool)) found.add(String(tool.name));
    }
  }
  return [...found].filter((name) => names.has(name));
}
