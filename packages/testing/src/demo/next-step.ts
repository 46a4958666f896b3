import type { JSONObject, JSONValue, LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import { ownTools } from "../../../../src/internal-tool.ts";
import { askTable, QUERY, query } from "./ask-table.ts";
import { type Outcome, outcomeOfCall } from "./read-conversation.ts";
import { type DemoPrompt, type DemoScript, type DemoStep, inert, refuse, say } from "./step.ts";
import { hasAll, isReading, subjectOf, tablesIn, wordsOf } from "./tables.ts";

const MAX_CHARS = 500;
/** More are a sign that a call is not recognised as made. */
const MAX_OUTCOMES = 20;
const MAX_SUGGESTIONS = 3;
/** A text with such a word is no order to change something. */
const CONDITIONAL = /\b(?:not|never|if|unless|except|without|or)\b|n['’]t\b/iu;
/** What a person says before the order. */
const POLITE = /^(?:(?:hello|hi|please|can you|could you|would you)\b|[,!\s])+/iu;

interface Call {
  readonly tool: LanguageModelV4FunctionTool;
  readonly input: JSONObject;
  /** Required parameters whose values are not in the text. */
  readonly missing: readonly string[];
  /** Words of the tool's name that the text has. */
  readonly shared: number;
}

/** Scripts first, then SQL as written, the patterns, the tools by their names, and a refusal. */
export function nextStep(prompt: DemoPrompt, scripts: readonly DemoScript[]): DemoStep {
  for (const script of scripts) {
    const step = script.step(prompt);
    if (step !== undefined) return step;
  }
  const { question, thisTurn, variables } = prompt.conversation;
  if (thisTurn.length > MAX_OUTCOMES) return refuse("I have called enough tools for one question");
  if (question.length > MAX_CHARS) return refuse("That is too long for a demo model");
  const text = question.replace(POLITE, "").replace(/(?:,? please|thanks|[?!.\s])+$/iu, "");
  if (/^(?:select|with)\s/iu.test(text) && prompt.tools.some(({ name }) => name === QUERY)) {
    return query(text, prompt, (result) => say(`Here is the result:\n\n${result}`));
  }
  const shown = variables.get(/^show (?:me )?\$?(\w+)$/iu.exec(text)?.[1] ?? "");
  if (shown?.type === "array") return say(`The first ten of ${shown.name}:\n\n$${shown.name}[:10]`);
  if (shown !== undefined) return say(`This is ${shown.name}:\n\n$${shown.name}`);
  return askTable(text, prompt) ?? callTool(text, prompt) ?? refuse("");
}

/** Says what this model is, why it does not answer, and three things to try. */
export function refusal(why: string, prompt: DemoPrompt, scripts: readonly DemoScript[]): string {
  const examples: Record<string, string> = Object.assign(
    {},
    ...scripts.map((script) => script.examples ?? {}),
  );
  const tools = prompt.tools.filter(({ name }) => !ownTools.runtimeToolNames.includes(name));
  const table = tablesIn(prompt).findLast(({ words }) => words.length > 0)?.name;
  const suggestions = [
    ...(table === undefined ? [] : [`How many rows are in ${table}?`]),
    ...tools.flatMap(({ name }) => examples[name] ?? []),
    ...tools.map((tool) => [...wordsOf(tool.name), ...requiredBy(tool).map(blank)].join(" ")),
    ...(table === undefined ? [] : [`SELECT * FROM ${table} LIMIT 5`]),
  ];
  const listed = [...new Set(suggestions)].slice(0, MAX_SUGGESTIONS);
  const advice =
    listed.length === 0
      ? "No tool is offered, so there is nothing to try."
      : `You can try:\n\n${listed.map((one) => `- ${one}`).join("\n")}`;
  return (
    "I am the demo model of Byref: I follow a few rules, in place of a language model. The tools, the variables and " +
    `the references are real. ${why && `${why}. `}${advice}\n\n` +
    "A language model is one setting away: `MODEL=` in `.dev.vars`, or in the environment."
  );
}

function blank(name: string): string {
  return `(${wordsOf(name).join(" ")})`;
}

function requiredBy(tool: DemoPrompt["tools"][number]): readonly string[] {
  return tool.type === "function" ? (tool.inputSchema.required ?? []) : [];
}

/** Calls the tool whose name shares most words with the text, or says its result. */
function callTool(text: string, prompt: DemoPrompt): DemoStep | undefined {
  const calls = prompt.tools.flatMap((tool) =>
    tool.type === "function" && !ownTools.runtimeToolNames.includes(tool.name)
      ? (callOf(tool, text, prompt) ?? [])
      : [],
  );
  const filled = ({ input }: Call) => Object.keys(input).length;
  const [call] = calls.toSorted(
    (a, b) => b.shared - a.shared || a.missing.length - b.missing.length || filled(b) - filled(a),
  );
  if (call === undefined) return undefined;
  const { tool, input, missing } = call;
  if (missing.length > 0) {
    return refuse(`${tool.name} needs ${missing.join(" and ")}, which I do not find in your text`);
  }
  const made = { toolName: tool.name, input };
  const outcome = outcomeOfCall(made, prompt.conversation.thisTurn);
  if (outcome === undefined) return { kind: "calls", calls: [made] };
  const canQuery = prompt.tools.some(({ name }) => name === QUERY);
  const note =
    canQuery || !/^how many\b/iu.test(text)
      ? ""
      : `I did not count: ${QUERY} is not offered (it needs queries in createRuntime, and the binding TABLES). `;
  return say(note + sayOutcome(outcome, input));
}

function callOf(
  tool: LanguageModelV4FunctionTool,
  text: string,
  prompt: DemoPrompt,
): Call | undefined {
  const words = wordsOf(text);
  const [first = ""] = wordsOf(tool.name);
  const shared = subjectOf(tool.name).filter((word) => words.includes(word)).length;
  // A tool that may change something runs if the text begins with its verb.
  const isOrder = words[0] === first && !CONDITIONAL.test(text);
  if (shared === 0 || !(isReading(tool.name) || isOrder)) return undefined;
  const required = tool.inputSchema.required ?? [];
  const input: Record<string, JSONValue> = {};
  for (const name of required) {
    const value = valueOf(name, tool, { text, prompt });
    if (value !== undefined) input[name] = value;
  }
  return { tool, input, missing: required.filter((name) => !(name in input)), shared };
}

function valueOf(
  name: string,
  { name: toolName, inputSchema }: LanguageModelV4FunctionTool,
  { text, prompt }: { readonly text: string; readonly prompt: DemoPrompt },
): JSONValue | undefined {
  const schema = JSON.stringify(inputSchema.properties?.[name] ?? {});
  // Each schema also accepts a text, for a reference.
  const types = Array.from(schema.matchAll(/"type":"(\w+)"/gu), ([, type = ""]) => type);
  const type = types.find((one) => one !== "string") ?? "string";
  if (type === "array") {
    const tables = tablesIn(prompt).filter((table) => !isMade(table.name, prompt));
    const table = tables.findLast(({ words }) => hasAll(new Set(words), wordsOf(name)));
    return table && `$${table.name}`;
  }
  if (type === "number" || type === "integer") {
    const number = /(?<![\w.-])\d+(?:\.\d+)?(?![\w-])/u.exec(text)?.[0];
    return number === undefined ? undefined : Number(number);
  }
  if (type !== "string") return undefined;
  const own = wordsAfter(wordsOf(name).join("[ _]"), text);
  if (own !== undefined) return own;
  // A text without its parameter's name is clear only if one parameter is required.
  if (inputSchema.required?.length !== 1) return undefined;
  return (
    /["“]([^"”]+)["”]/u.exec(text)?.[1] ??
    /[\w.+-]*(?:\d|@)[\w.@-]*/u.exec(text)?.[0] ??
    wordsAfter("in|for|of|about", text) ??
    wordsAfter(subjectOf(toolName).at(-1) ?? "", text)
  );
}

/** The words after one of these, up to the next preposition. */
function wordsAfter(words: string, text: string): string | undefined {
  const pattern = `\\b(?:${words})s? (?!(?:in|for|of|from|to|with) )([^,;]+?)(?= (?:in|for|of|from|to|with|and) |$)`;
  return new RegExp(pattern, "iu").exec(text)?.[1]?.replaceAll(/^["“]|["”]$/gu, "");
}

/** True for a result of this turn. */
function isMade(name: string, { conversation }: DemoPrompt): boolean {
  return conversation.thisTurn.some(
    ({ result }) => result.kind === "variable" && result.name === name,
  );
}

function sayOutcome({ toolName, result }: Outcome, input: JSONObject): string {
  const given = Object.entries(input).map(([name, value]) => `${name} ${inert(String(value))}`);
  const call = given.length === 0 ? toolName : `${toolName} with ${given.join(", ")}`;
  if (result.kind === "failure") return `I could not use ${call}: ${inert(result.message)}`;
  const { name, type, count } = result;
  if (type !== "array" || count === undefined) return `Here is the result of ${call}:\n\n$${name}`;
  if (count === 0) return `${call} returned no records.`;
  const part = count > 10 ? `, kept as ${name}. The first ten:\n\n$${name}[:10]` : `:\n\n$${name}`;
  return `${call} returned ${count} ${count === 1 ? "record" : "records"}${part}`;
}
