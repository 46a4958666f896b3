import type { JSONValue, LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import { isObject } from "./read-conversation.ts";
import { wordsOfName } from "./words.ts";

/** A parameter of a tool, as its schema describes it. */
export interface Parameter {
  readonly name: string;
  readonly words: readonly string[];
  readonly isRequired: boolean;
  readonly type: "choice" | "string" | "number" | "boolean" | "array" | "object" | "unknown";
  /** The values of a choice. */
  readonly choices: readonly string[];
  /** True for a date or a time. */
  readonly isDate: boolean;
  /** Keys that each record of a list must have. */
  readonly keys: readonly string[];
}

export function parametersOf(
  schema: LanguageModelV4FunctionTool["inputSchema"],
): readonly Parameter[] {
  const { properties, required } = schema;
  return Object.entries(properties ?? {}).map(([name, property]) => {
    const branches = branchesOf(property as JSONValue, 0);
    const choices = branches.flatMap(choicesOf);
    const types = new Set(branches.flatMap(typesOf));
    return {
      name,
      words: wordsOfName(name),
      isRequired: required?.includes(name) === true,
      type: choices.length > 0 ? "choice" : (TYPES.find((type) => types.has(type)) ?? "unknown"),
      choices: [...new Set(choices)],
      isDate: branches.some(
        ({ format }) => typeof format === "string" && /date|time/u.test(format),
      ),
      keys: branches.flatMap(({ items }) => keysOf(items)),
    };
  });
}

/** True if a text may be meant by the parameter. */
export function fits(text: string, { isDate, type, words }: Parameter): boolean {
  if (type === "number") return true;
  if (isDate || words.includes("date")) return /^\d{4}-\d{2}-\d{2}/u.test(text);
  if (words.includes("email")) return text.includes("@");
  return !words.some((word) => IDS.has(word)) || /\p{N}/u.test(text) || text === text.toUpperCase();
}

/** A parameter with such a name takes no plain words. */
const IDS: ReadonlySet<string> = new Set(["id", "key", "number", "code", "uuid", "no"]);

/** Each schema also accepts a string for a reference, so `string` comes last. */
const TYPES = ["array", "object", "number", "boolean", "string"] as const;

type Branch = Readonly<Record<string, JSONValue | undefined>>;

function branchesOf(schema: JSONValue, depth: number): readonly Branch[] {
  if (!isObject(schema) || depth > MAX_DEPTH) return [];
  const inner = [schema["anyOf"], schema["oneOf"], schema["allOf"]].flatMap((list) =>
    Array.isArray(list) ? list.flatMap((one) => branchesOf(one, depth + 1)) : [],
  );
  return [schema, ...inner];
}

const MAX_DEPTH = 4;

function choicesOf({ enum: choices, const: only }: Branch): readonly string[] {
  const all = Array.isArray(choices) ? choices : only === undefined ? [] : [only];
  return all.filter((one) => typeof one === "string" && !one.startsWith("$"));
}

function keysOf(items: JSONValue | undefined): readonly string[] {
  const branches = items === undefined ? [] : branchesOf(items, 0);
  return branches.flatMap(({ required }) =>
    Array.isArray(required) ? required.filter((key) => typeof key === "string") : [],
  );
}

function typesOf({ type }: Branch): readonly string[] {
  const all = Array.isArray(type) ? type : [type];
  return all.map((one) => (one === "integer" ? "number" : String(one)));
}
