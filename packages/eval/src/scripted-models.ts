import { createHash } from "node:crypto";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultOutput,
} from "@ai-sdk/provider";
import { finish, modelOf, text, toolCall } from "../../testing/src/testing/stream-parts.ts";
import { Random } from "./random.ts";
import { json } from "../../../src/internal.ts";
import { type Json, parsePath, readPath } from "../../../src/references.ts";

/** A scripted model. It does everything else right. */
export interface Skill {
  readonly name: string;
  /** Wrong characters in 1,000 that it copies from its prompt. */
  readonly copyErrorsPer1000: number;
}

/** The scripted models of `--model scripted:NAME`. */
export const exact: Skill = { name: "exact", copyErrorsPer1000: 0 };
const sloppy: Skill = { name: "sloppy", copyErrorsPer1000: 0.2 };

export function skillNamed(name: string): Skill {
  const skill = [exact, sloppy].find((one) => one.name === name);
  if (skill !== undefined) return skill;
  throw new Error(`There is no scripted model ${name}; there are exact, sloppy.`);
}

/** A model that does the tasks from the text of its prompts alone. The same prompt has the same reply. */
export function skillModel(skill: Skill): LanguageModelV4 {
  return modelOf("scripted", skill.name, async function* (options) {
    const reply = replyTo(options, skill);
    const digest = digestOf(options.prompt).toString("hex").slice(0, 12);
    if ("text" in reply) yield* text(reply.text);
    else
      for (const [index, { tool, input }] of reply.calls.entries())
        yield* toolCall(tool, input, { id: `call_${digest}_${index}` });
    yield* finish("text" in reply ? "stop" : "tool-calls");
  });
}

function replyTo(options: LanguageModelV4CallOptions, skill: Skill): Reply {
  const hand = new Hand(options, skill);
  for (const [pattern, work] of rules) {
    const found = pattern.exec(hand.question);
    if (found === null) continue;
    try {
      return work(hand, ...found.slice(1));
    } catch (error) {
      if (error instanceof Stop) return error.reply;
      throw error;
    }
  }
  return { text: "I do not understand the question." };
}

function digestOf(value: unknown): Buffer {
  return createHash("sha256").update(JSON.stringify(value)).digest();
}

type Reply =
  | { readonly calls: readonly { readonly tool: string; readonly input: object }[] }
  | { readonly text: string };

/** Thrown where the work does not go on without the result of a call, or not at all. */
class Stop extends Error {
  readonly reply: Reply;

  constructor(reply: Reply) {
    super();
    this.reply = reply;
  }
}

const DONE: Reply = { text: "done" };
const LOST: Reply = { text: "I cannot do this: I do not see the data." };

/**
 * The questions that scripted models understand, those of the tasks, and the work for each, which gets the parts that
 * the pattern captures. It begins anew at each prompt, and goes on with the results that it finds there.
 */
const rules: readonly (readonly [
  pattern: RegExp,
  work: (hand: Hand, ...parts: string[]) => Reply,
])[] = [
  [
    /^Fetch the document "(.+?)" with fetch_document, then store it unchanged as "(.+?)"/u,
    (hand, name, copy) => {
      const fetched = hand.call("fetch_document", { name });
      return hand.finish("store_document", () => ({ name: copy, content: hand.pass(fetched) }));
    },
  ],
  [
    /^Fetch the document "(.+?)" with .+? whose "id" is "(.+?)", change "(.+?)" to "(.+?)", .+? as "(.+?)" with/u,
    edit,
  ],
  [
    /^Call list_shipments, then cancel all/u,
    (hand) => {
      const listed = hand.call("list_shipments", {});
      return hand.finish("cancel_shipments", () => ({ ids: hand.pass(listed, "[*].id") }));
    },
  ],
  [/^Call list_orders and list_customers\. .+? "country" "(\w+)"/u, total],
  [
    /<text>\n([\s\S]*)\n<\/text>/u,
    (hand, given) => hand.finish("store_text", () => ({ text: hand.copy(given) })),
  ],
];

/** Edits the variable in place with references. Otherwise writes the whole document again. */
function edit(hand: Hand, ...parts: string[]): Reply {
  const [name, id, field = "", value = "", copy] = parts;
  const fetched = hand.call("fetch_document", { name });
  return hand.finish("store_document", () => {
    const variable = variableIn(fetched);
    const passed = hand.pass(fetched);
    if (variable !== undefined && hand.has("edit_variable") && typeof passed === "string") {
      const edits = [{ where: `id = '${id}'`, set: { [field]: value } }];
      hand.call("edit_variable", { name: variable, edits });
      return { name: copy, content: passed };
    }
    const seen = hand.see(fetched);
    if (!json.isJsonArray(seen)) return { name: copy, content: seen };
    const changed = seen.map((record) =>
      json.isJsonObject(record) && record.id === id ? { ...record, [field]: value } : record,
    );
    return { name: copy, content: hand.copy(changed) };
  });
}

/** Adds up what it has seen, or lets SQL do it. */
function total(hand: Hand, country: string): Reply {
  const orders = hand.call("list_orders", {});
  const customers = hand.call("list_customers", {});
  const [from, joined] = [variableIn(orders), variableIn(customers)];
  return hand.finish("report_total", () => {
    if (hand.has("query_variables") && from !== undefined && joined !== undefined) {
      const sql = `SELECT SUM(o.amount) AS total FROM $${from} AS o JOIN $${joined} AS c ON c.id = o.customer WHERE c.country = '${country}'`;
      return { total: totalIn(hand.call("query_variables", { sql })) };
    }
    const list = recordsIn(hand.see(orders));
    const people = recordsIn(hand.see(customers)).filter((one) => one.country === country);
    const chosen = new Set(people.map(({ id }) => id));
    const bought = list.filter(({ customer }) => chosen.has(customer));
    return { total: bought.reduce((sum, { amount }) => sum + Number(amount), 0) };
  });
}

function recordsIn(value: Json): readonly Readonly<Record<string, unknown>>[] {
  return json.isJsonArray(value) ? value.filter(json.isJsonObject) : [];
}

function totalIn(output: Json): number {
  const { value } = json.isObject(output) ? output : {};
  const row: unknown = Array.isArray(value) ? value[0] : undefined;
  return json.isObject(row) ? Number(row.total) : 0;
}

/** Reads of one value before a model gives up. */
const MAX_READS = 30;

/** Calls tools, and writes what a model has seen, with the errors of its skill. */
class Hand {
  /** The user's last message. */
  readonly question: string;
  readonly #calls: readonly SeenCall[];
  readonly #tools: ReadonlySet<string>;
  readonly #skill: Skill;
  readonly #random: Random;

  constructor({ prompt, tools = [] }: LanguageModelV4CallOptions, skill: Skill) {
    const all = prompt.flatMap(({ role, content }) =>
      role === "system" ? [] : content.map((part) => ({ role, ...part })),
    );
    const results = new Map(
      all.flatMap((part) =>
        part.type === "tool-result" ? [[part.toolCallId, resultText(part.output)]] : [],
      ),
    );
    const asked = all.findLast(
      (part) =>
        part.role === "user" && part.type === "text" && !part.text.startsWith("<variables>"),
    );
    this.question = asked?.type === "text" ? asked.text : "";
    this.#calls = all.flatMap((part) =>
      part.type === "tool-call" ? [seenCall(part, results.get(part.toolCallId))] : [],
    );
    this.#tools = new Set(tools.map(({ name }) => name));
    this.#skill = skill;
    this.#random = new Random(digestOf([skill.name, prompt]).readUInt32LE(0));
  }

  has(tool: string): boolean {
    return this.#tools.has(tool);
  }

  /** Returns the result of the first call of the tool, or makes this one. */
  call(tool: string, input: object): Json {
    const made = this.#calls.find((call) => call.tool === tool);
    if (made === undefined) throw new Stop({ calls: [{ tool, input }] });
    if (made.output === undefined) throw new Stop(LOST);
    return made.output;
  }

  /** Makes the last call of a task, and answers when the call has been made. */
  finish(tool: string, inputOf: () => object): Reply {
    const isMade = this.#calls.some((call) => call.tool === tool);
    return isMade ? DONE : { calls: [{ tool, input: inputOf() }] };
  }

  /** Passes the result of a call on: by reference where there is one, or else as a copy. */
  pass(output: Json, path = ""): Json {
    const name = variableIn(output);
    if (name !== undefined) return `$${name}${path}`;
    const seen = this.see(output);
    const part = path === "" ? seen : partOf(seen, path);
    if (part === undefined) throw new Stop(LOST);
    return this.copy(part);
  }

  /** The value of a call's result, read in parts if it is not in the prompt. */
  see(output: Json): Json {
    if (json.isObject(output) && typeof output.$var === "string") {
      return "value" in output ? (output.value as Json) : this.#read(output);
    }
    if (json.isObject(output) && typeof output.file === "string") return this.#readFile(output);
    return typeof output === "string" ? withoutCut(output) : output;
  }

  /** Copies a value character by character. */
  copy(value: Json): Json {
    if (this.#skill.copyErrorsPer1000 === 0) return value;
    if (typeof value === "string") return this.#copied(value);
    if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
    // Numbers stay: a wrong digit at the start of one would not be JSON.
    const text = this.#copied(JSON.stringify(value));
    const copied = parsed(text);
    return typeof copied === "string" ? value : copied;
  }

  #copied(text: string): string {
    const [random, share] = [this.#random, this.#skill.copyErrorsPer1000 / 1_000];
    const characters = [...text];
    let owed = 0;
    for (const [index, character] of characters.entries()) {
      if (random.chance(share)) owed++;
      if (owed === 0 || !/[a-z]/iu.test(character)) continue;
      characters[index] = another(character, random);
      owed--;
    }
    return characters.join("");
  }

  #read({ $var: name }: Readonly<Record<string, unknown>>): Json {
    const pieces = this.#outputsOf("read_variable", (input) => input.name === name);
    const read = pieces.filter((piece): piece is json.JsonObject & Piece => json.isObject(piece));
    const last = read.at(-1);
    if (last !== undefined && last.next === undefined) return joined(read);
    throw this.#reading("read_variable", last?.next ?? { name }, pieces.length);
  }

  #readFile({ file, characters }: Readonly<Record<string, unknown>>): Json {
    const pieces = this.#outputsOf("read_file", (input) => input.path === file);
    const texts = pieces.map((piece) =>
      typeof piece === "string" ? piece : JSON.stringify(piece),
    );
    const text = texts.join("");
    if (text.length >= Number(characters)) return parsed(text);
    throw this.#reading("read_file", { path: file, offset: text.length }, pieces.length);
  }

  #outputsOf(tool: string, isOf: (input: SeenCall["input"]) => boolean): readonly Json[] {
    const calls = this.#calls.filter((call) => call.tool === tool && isOf(call.input));
    return calls.flatMap(({ output }) => (output === undefined ? [] : [output]));
  }

  /** Stops for the next read, or after so many. */
  #reading(tool: string, input: object, reads: number): Stop {
    return new Stop(reads < MAX_READS && this.has(tool) ? { calls: [{ tool, input }] } : LOST);
  }
}

interface Piece {
  readonly value?: Json;
  readonly next?: object;
}

function joined(pieces: readonly Piece[]): Json {
  const values = pieces.map(({ value = null }) => value);
  const [first = null] = values;
  if (typeof first === "string") return values.join("");
  return json.isJsonArray(first)
    ? values.flatMap((value) => (json.isJsonArray(value) ? value : []))
    : first;
}

function variableIn(output: Json | undefined): string | undefined {
  return json.isObject(output) && typeof output.$var === "string" ? output.$var : undefined;
}

/** Returns the readable part of a clipped result: the complete records. */
function withoutCut(text: string): Json {
  const [, start = text] = /^([\s\S]*)\n\[cut: \d+ more characters\]$/u.exec(text) ?? [];
  if (start === text || !start.startsWith("[{")) return start;
  const end = start.lastIndexOf("},{");
  return end < 0 ? start : parsed(`${start.slice(0, end + 1)}]`);
}

function partOf(value: Json, path: string): Json | undefined {
  const parsedPath = parsePath(path);
  const reading = parsedPath === undefined ? undefined : readPath(value, parsedPath);
  return reading?.found === true ? reading.value : undefined;
}

function another(character: string, random: Random): string {
  const letters = character === character.toLowerCase() ? LOWER : LOWER.toUpperCase();
  return random.one([...letters].filter((letter) => letter !== character));
}

const LOWER = "abcdefghijklmnopqrstuvwxyz";

/** A call in the prompt, with its result as the model sees it. */
interface SeenCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, Json>>;
  /** Absent while the call has no result. */
  readonly output?: Json;
}

/** The text of a result, as a provider sends it. */
function resultText(output: LanguageModelV4ToolResultOutput): string {
  const value = "value" in output ? output.value : "";
  return typeof value === "string" && output.type !== "json" ? value : JSON.stringify(value);
}

function seenCall(
  { toolName: tool, input }: LanguageModelV4ToolCallPart,
  text: string | undefined,
): SeenCall {
  const given = json.isObject(input) ? (input as SeenCall["input"]) : {};
  return { tool, input: given, ...(text !== undefined && { output: parsed(text) }) };
}

/** Reads a JSON array or object; returns any other text. */
function parsed(text: string): Json {
  return /^\s*[[{]/u.test(text) ? (json.jsonIn(text) ?? text) : text;
}
