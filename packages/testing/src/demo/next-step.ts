import type { JSONObject } from "@ai-sdk/provider";
import { runtimeToolNames } from "../../../../src/tool/variables/variable-tools.ts";
import { answerQuery, canQuery } from "./answer-query.ts";
import { tablesIn } from "./introduce.ts";
import type { CallReading } from "./call-reader.ts";
import { isList, readCall } from "./read-call.ts";
import { type Outcome, outcomeOfCall, type Variable } from "./read-conversation.ts";
import { QUERY_WORDS } from "./query-words.ts";
import { readQuery } from "./read-query.ts";
import { type DemoPrompt, type DemoScript, type DemoStep, inert, refuse, say } from "./step.ts";
import { type Table, tableOf } from "./tables.ts";
import { isFiller, isPreposition, isTelling, recordsFor, type Token, tokensOf } from "./words.ts";

const MAX_CHARS = 500;
const MAX_WORDS = 60;
/** More are a sign that a call is not recognised as made. */
const MAX_OUTCOMES = 20;
const MAX_QUOTED = 5;
const ASKED = new Set(["how", "many"]);
const EDITING = new Set("add change edit replace set update".split(" "));
/** Words that a question cannot use, unless a list has such a column. */
const OFTEN_COLUMNS = new Set("hour day week month quarter year".split(" "));
const CANNOT_EDIT = "I do not edit a value. A language model does, with edit_variable";
const GREETING = new Set("help who are you what can your name".split(" "));

/** A step, or the introduction of the model, with what it found no tool for. */
export type NextStep = DemoStep | { readonly kind: "introduction"; readonly why: string };

export function nextStep(prompt: DemoPrompt, scripts: readonly DemoScript[]): NextStep {
  for (const script of scripts) {
    const step = script.step(prompt);
    if (step !== undefined) return step;
  }
  const { question, thisTurn } = prompt.conversation;
  if (thisTurn.length > MAX_OUTCOMES) return refuse("I have called enough tools for one question");
  const tokens = question.length > MAX_CHARS ? [] : withoutGreeting(tokensOf(question));
  if (question.length > MAX_CHARS || tokens.length > MAX_WORDS) {
    return refuse("That is too long for a demo model. Ask one short question");
  }
  if (hasSentences(tokens)) {
    return refuse("Ask one question at a time");
  }
  if (tokens.every((token) => isFiller(token) || GREETING.has(token.word))) {
    return { kind: "introduction", why: "" };
  }
  return new Choice(tokens, prompt).step();
}

/** Returns the tokens after "Hello!". */
function withoutGreeting(tokens: readonly Token[]): readonly Token[] {
  const end = tokens.findIndex(isEnd);
  const isGreeting = end >= 0 && tokens.slice(0, end).every(isFiller);
  return isGreeting ? tokens.slice(end + 1) : tokens;
}

/** True if a capital follows the end of a sentence, and not as in "St. Gallen". */
function hasSentences(tokens: readonly Token[]): boolean {
  return tokens.some((token, index) => {
    const [before, after] = [tokens[index - 1]?.text ?? "", tokens[index + 1]?.text ?? ""];
    const isAbbreviation = token.text === "." && /^\p{Lu}\p{L}{0,2}$/u.test(before);
    return isEnd(token) && /^\p{Lu}/u.test(after) && !isAbbreviation;
  });
}

function isEnd({ kind, text }: Token): boolean {
  return kind === "sign" && ".?!".includes(text);
}

/** Chooses between the tools and tables that a question may mean. */
class Choice {
  readonly #tokens: readonly Token[];
  readonly #prompt: DemoPrompt;
  readonly #calls: readonly CallReading[];
  /** Tables of earlier turns. Results of this turn must not change the meaning of the question. */
  readonly #tables: readonly Table[];
  /** Tables that a question may refer to by a general word. */
  readonly #whole: readonly Table[];

  constructor(tokens: readonly Token[], prompt: DemoPrompt) {
    const made = new Set(
      prompt.conversation.thisTurn.flatMap(({ result }) =>
        result.kind === "variable" ? [result.name] : [],
      ),
    );
    const tables = tablesIn(prompt).filter(({ name }) => !made.has(name));
    const whole = tables.filter(({ name }) => isWhole(name, prompt));
    const tools = prompt.tools.flatMap((tool) =>
      tool.type === "function" && !runtimeToolNames.includes(tool.name) ? [tool] : [],
    );
    this.#tokens = tokens;
    this.#prompt = prompt;
    this.#tables = tables;
    this.#whole = whole;
    this.#calls = tools.flatMap((tool) => readCall(tokens, { tool, tables: whole }) ?? []);
  }

  step(): NextStep {
    const full = this.#calls.filter(
      ({ rest, missing }) => rest.length === 0 && missing.length === 0,
    );
    const [call, ...others] = mostNamed(full);
    if (call !== undefined)
      return others.length === 0 ? this.#follow(call) : several([call, ...others]);
    if (this.#calls.some(({ changes }) => changes)) return this.#refusal();
    if (this.#asksToEdit()) return refuse(CANNOT_EDIT);
    return this.#shown() ?? this.#ofTable() ?? this.#ofList() ?? this.#refusal();
  }

  #follow({ tool, inputs, counts }: CallReading): DemoStep {
    const outcomes = inputs.map((input) => this.#outcome(tool.name, input));
    const open = inputs.filter((_, index) => outcomes[index] === undefined);
    if (open.length > 0) {
      return { kind: "calls", calls: open.map((input) => ({ toolName: tool.name, input })) };
    }
    const said = outcomes.map((outcome, index) => sayOutcome(outcome, inputs[index] ?? {}, counts));
    return say(said.join("\n\n"));
  }

  #outcome(toolName: string, input: JSONObject): Outcome | undefined {
    return outcomeOfCall({ toolName, input }, this.#prompt.conversation.thisTurn);
  }

  #asksToEdit(): boolean {
    const verb = this.#tokens.find((token) => !isFiller(token));
    return verb?.kind === "word" && EDITING.has(verb.word) && this.#tables.length > 0;
  }

  /** "Show $notes": any variable by its name. */
  #shown(): DemoStep | undefined {
    const [named, ...others] = this.#tokens.filter((token) => !isFiller(token));
    const variable = this.#prompt.conversation.variables.get(named?.text ?? "");
    if (variable === undefined || others.length > 0 || variable.type === "array") return undefined;
    return say(`This is ${variable.name}:\n\n$${variable.name}`);
  }

  #ofTable(): DemoStep | undefined {
    if (!canQuery(this.#prompt)) return undefined;
    const exact = this.#tables.filter(({ name }) =>
      this.#tokens.some(({ kind, text }) => kind !== "quoted" && text === name),
    );
    const named = exact.length > 0 ? exact : this.#whole.filter((table) => this.#means(table));
    const [table, ...others] = named.length > 0 ? named : this.#only();
    if (table === undefined) return undefined;
    if (others.length > 0) {
      const names = [table, ...others].map(({ name }) => name).join(", ");
      return refuse(
        `That may be about several tables (${names}): name one, for example “rows of ${table.name}”`,
      );
    }
    return answerQuery(this.#tokens, table, this.#prompt);
  }

  /** True if the question has the table's name. */
  #means({ words }: Table): boolean {
    const stems = new Set(this.#tokens.map(({ stem }) => stem));
    return words.length > 0 && words.every((word) => stems.has(word));
  }

  /** The only table, if the question is about it without its name: "How many rows are there?" */
  #only(): readonly Table[] {
    const own = this.#whole.filter(({ isResult }) => !isResult);
    if (own.length === 1 && this.#calls.length === 0) return own;
    return own.filter((table) => !table.isOpen && !("problem" in readQuery(this.#tokens, table)));
  }

  /** Fetches a list, then asks about it. */
  #ofList(): DemoStep | undefined {
    const lists = this.#calls.filter((call) => isList(call));
    const [list, ...others] = mostNamed(lists);
    if (list === undefined) return undefined;
    if (others.length > 0) return several([list, ...others]);
    // A question that no query can express causes no call.
    const isLost = (token: Token) =>
      isPreposition(token) ||
      (isTelling(token) && !QUERY_WORDS.has(token.word) && !this.#mayBeColumn(token));
    if (list.rest.some(isLost)) return undefined;
    const [input = {}] = list.inputs;
    const outcome = this.#outcome(list.tool.name, input);
    if (outcome === undefined) {
      return { kind: "calls", calls: [{ toolName: list.tool.name, input }] };
    }
    const { result } = outcome;
    const table = result.kind === "variable" ? tableOf(result) : undefined;
    if (!canQuery(this.#prompt)) {
      return say(
        `I did not filter or compute anything: query_variables is not offered (it needs queries in createRuntime, and the binding TABLES). ${sayOutcome(outcome, input, true)}`,
      );
    }
    if (result.kind !== "variable" || table === undefined) {
      const said = sayOutcome(outcome, input, false);
      return say(`${said}\n\nI could not ask it about ${unknown(list.rest)}.`);
    }
    return answerQuery(list.left, { ...table, words: list.words }, this.#prompt);
  }

  /** "sum of hours", "by month", "with hours 3" */
  #mayBeColumn(token: Token): boolean {
    const passed = (one: Token) => isFiller(one) || isPreposition(one);
    const before = this.#tokens.slice(0, this.#tokens.indexOf(token));
    const last = before.findLast((one) => !passed(one));
    return OFTEN_COLUMNS.has(token.stem) && QUERY_WORDS.has(last?.word ?? "");
  }

  #refusal(): NextStep {
    const changing = this.#calls.filter(({ changes }) => changes);
    const [call] = (changing.length > 0 ? changing : this.#calls).toSorted(
      (a, b) => a.rest.length - b.rest.length,
    );
    if (call === undefined) {
      const words = this.#tokens.filter((token) => !isFiller(token) && !ASKED.has(token.word));
      return { kind: "introduction", why: `I found no tool and no table for ${quote(words)}. ` };
    }
    const { tool, missing, rest } = call;
    const needs =
      missing.length === 0
        ? ""
        : `${tool.name} needs ${missing.join(" and ")}, which I cannot read off the question`;
    const unclear =
      rest.length === 0
        ? ""
        : `I do not know what to do with ${unknown(rest)} in a call of ${tool.name}`;
    return refuse([needs, unclear].filter((text) => text !== "").join(". "));
  }
}

/** False for a tool's result that may be a part of what there is: its call had an input, or is not in the prompt. */
function isWhole(name: string, { conversation, tools }: DemoPrompt): boolean {
  const input = conversation.variables.get(name)?.input;
  if (input !== undefined) return JSON.stringify(input) === "{}";
  return !tools.some((tool) => name.startsWith(tool.name));
}

/** Returns the readings that use the most words of the question. */
function mostNamed(calls: readonly CallReading[]): readonly CallReading[] {
  const most = Math.max(...calls.map(({ words }) => words.length));
  return calls.filter(({ words }) => words.length === most);
}

function several(calls: readonly CallReading[]): DemoStep {
  const names = calls.map(({ tool }) => tool.name).join(", ");
  return refuse(`That may mean several tools (${names}): use the words of one name`);
}

function unknown(tokens: readonly Token[]): string {
  const telling = tokens.filter((token) => isTelling(token));
  return quote(telling.length > 0 ? telling : tokens);
}

function quote(tokens: readonly Token[]): string {
  return tokens
    .slice(0, MAX_QUOTED)
    .map(({ text }) => `“${inert(text)}”`)
    .join(", ");
}

function sayOutcome(outcome: Outcome | undefined, input: JSONObject, counts: boolean): string {
  if (outcome === undefined) return "";
  const { toolName, result } = outcome;
  const given = Object.entries(input).map(([name, value]) => `${name} ${inert(nameIn(value))}`);
  const call = given.length === 0 ? toolName : `${toolName} with ${given.join(", ")}`;
  if (result.kind === "failure") return `I could not use ${call}: ${inert(result.message)}`;
  return sayResult(call, result, counts);
}

/** A reference as the name of its variable. */
function nameIn(value: unknown): string {
  return String(value).replace(/^\$(?=[A-Za-z_]\w*$)/u, "");
}

function sayResult(call: string, { name, type, count }: Variable, counts: boolean): string {
  if (type !== "array" || count === undefined) {
    const unable = counts ? " It is not a list that I could count." : "";
    return `Here is the result of ${call}:${unable}\n\n$${name}`;
  }
  if (count === 0) return `${call} returned no records.`;
  const returned = `${call} returned ${count} ${recordsFor(count)}`;
  if (counts) return `${returned}, kept as ${name}.`;
  const part = count > 10 ? `, kept as ${name}. The first ten:\n\n$${name}[:10]` : `:\n\n$${name}`;
  return `${returned}${part}`;
}
