/**
 * Measures what the model receives and writes: `npm run bench -- prompt`. One tool result of 200 KB, then six
 * questions; two turns with small results; and an answer that contains a stored report of 1 MB by one reference.
 * The results do not depend on speed.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { asSchema } from "ai";
import { MemoryStore } from "../src/store/memory-store.ts";
import { codeTool } from "../packages/code/src/code-tool.ts";
import { wrapRuntimeTool } from "../src/tool/wrap-runtime-tool.ts";
import { requireExact } from "./ask.ts";
import type { Load } from "./load.ts";
import type { Metered, Prompt } from "./meter.ts";
import { REPORT } from "./report.ts";
import { plainRow, report, type Row } from "./results.ts";
import { type Contest, present, type Side, startContest, urlOf } from "./sides.ts";
import { spreadOf } from "./statistics.ts";

const SIDES = present(["ours", "kept", "ai-chat", "ai-chat, pruned", "think", "think, short"]);
const FOLLOW_UPS = 6;
/** Goals for peers with default options. An option that drops data from the prompt also hides it from the model. */
const MESSAGE_GOALS: Goals = { "ai-chat": 0.008 };
const WHOLE_GOALS: Goals = { "ai-chat": 0.013 };
const STORED_CHARS = 1_000_000;
/** A question to the agent with the tool that causes no call. */
const QUESTION: Load = { deltas: 20, gapMs: 0, tool: "fetch_report" };
const REPORT_JSON = JSON.stringify(REPORT);

type Goals = Partial<Record<Side, number>>;

interface Sent {
  readonly prompts: readonly Prompt[];
  /** True if the exact value can still be read. */
  readonly isKept: boolean;
  /** True if the last prompt contains the value. */
  readonly isInPrompt: boolean;
}

async function converse(contest: Contest, side: Side): Promise<Sent> {
  const talk = contest.talk(side, "c1");
  requireExact(side, await talk.ask({ ...QUESTION, calls: 1, word: "fetch" }));
  for (let index = 0; index < FOLLOW_UPS; index++)
    requireExact(side, await talk.ask({ ...QUESTION, word: `follow-${index}` }));
  talk.close();
  const prompts = await promptsOf(contest, side);
  const kept = await keptAt(urlOf(contest.server, side), side);
  const last = prompts.at(-1)?.messages ?? "";
  return {
    prompts,
    isKept: kept.includes(REPORT_JSON),
    isInPrompt: last.includes(REPORT_JSON),
  };
}

/** The prompts since the last call of this function. */
async function promptsOf({ server }: Contest, side: Side): Promise<readonly Prompt[]> {
  const response = await fetch(`${urlOf(server, side)}/bench/meter`);
  return ((await response.json()) as Metered).prompts;
}

/** Two turns, each with a call of a tool with a small result. */
async function smallTurns(contest: Contest): Promise<readonly Row[]> {
  const load: Load = { deltas: 2, gapMs: 0, tool: "check", calls: 1 };
  const sent = new Map<Side, readonly Prompt[]>();
  for (const side of ["ours", "kept"] as const) {
    const talk = contest.talk(side, "small");
    for (const word of ["one", "two"]) requireExact(side, await talk.ask({ ...load, word }));
    talk.close();
    sent.set(side, await promptsOf(contest, side));
  }
  const summed = (of: (prompt: Prompt) => number) =>
    new Map(
      Array.from(sent, ([side, prompts]) => [side, prompts.reduce((sum, one) => sum + of(one), 0)]),
    );
  const messages = summed(messageChars);
  const all = summed(wholeChars);
  const name = "two short turns with small results";
  return [
    figureRow(`${name}: characters of messages`, "characters", messages),
    ...ratiosOf(`${name}, messages`, messages, {}),
    figureRow(`${name}: characters of messages and tools`, "characters", all),
    ...ratiosOf(`${name}, messages and tools`, all, { kept: 1.25 }),
  ];
}

/** The prompt of a first question, with and without `run_code` among the tools. */
async function firstQuestion(sent: ReadonlyMap<Side, Sent>): Promise<readonly Row[]> {
  const first = new Map(
    Array.from(sent, ([side, { prompts }]): [Side, number] => [side, wholeChars(prompts[0])]),
  );
  const [ours = 0, kept = 0] = [first.get("ours"), first.get("kept")];
  // The bench's Worker has no sandbox.
  const run = () => Promise.reject(new Error("It only describes."));
  const code = codeTool({ sandbox: { run }, tools: () => new Map() });
  const { shown } = await wrapRuntimeTool(code, { store: new MemoryStore() });
  const { description, inputSchema } = shown;
  const schema = await asSchema(inputSchema).jsonSchema;
  const definition = { type: "function", name: code.name, inputSchema: schema, description };
  const value = (ours + JSON.stringify(definition).length + 1) / kept;
  const name = "prompt of a first question";
  const row = {
    name: `${name}, run_code too: against kept`,
    value,
    unit: "times",
    against: "kept",
  };
  return [figureRow(`${name}, tools too`, "characters", first), plainRow(row)];
}

/** The data that the side still stores, as JSON. */
async function keptAt(url: string, side: Side): Promise<string> {
  const textAt = async (path: string) => (await fetch(`${url}/${path}`)).text();
  if (side !== "ours") {
    const kinds: Partial<Record<Side, string>> = {
      kept: "kept/c1",
      "ai-chat": "agents/chat/c1/get-messages",
      "ai-chat, pruned": "agents/pruned-chat/c1/get-messages",
      think: "agents/thinker/c1/get-messages",
      "think, short": "agents/short-thinker/c1/get-messages",
    };
    return textAt(kinds[side] ?? "");
  }
  const { variables } = JSON.parse(await textAt("conversations/c1/variables")) as {
    readonly variables: readonly { readonly name: string }[];
  };
  const values = variables.map(({ name }) => textAt(`conversations/c1/variables/${name}`));
  return (await Promise.all(values)).join("\n");
}

/**
 * Answers with a stored report: compares the text that the model writes with the text that the person reads.
 */
async function answerFromData(contest: Contest): Promise<Row> {
  const text = "All of it is as it was. ".repeat(STORED_CHARS / 24 + 1).slice(0, STORED_CHARS);
  const url = `${urlOf(contest.server, "ours")}/conversations/stored/variables/report`;
  const headers = { "content-type": "text/plain" };
  const stored = await fetch(url, { method: "PUT", body: text, headers });
  if (!stored.ok) throw new Error(await stored.text());
  const say = "$report";
  const answer = await contest.talk("ours", "stored").ask({ deltas: 1, gapMs: 0, say });
  if (answer.text !== text) throw new Error(`It said ${answer.text.length} characters, or others.`);
  const row = { name: "answer from data", value: say.length, unit: "characters written" };
  return plainRow({ ...row, against: `the ${STORED_CHARS.toLocaleString("en-US")} that are read` });
}

function figureRow(name: string, unit: string, values: ReadonlyMap<Side, number>): Row {
  const sides = Array.from(values, ([side, value]) => [side, spreadOf([value])]);
  const value = values.get("ours") ?? Number.NaN;
  return plainRow({ name, value, unit, sides: Object.fromEntries(sides) });
}

const SCENARIO = "prompt after a large result";

function rowsOf(sent: ReadonlyMap<Side, Sent>): readonly Row[] {
  const mapped = (of: (one: Sent) => number) =>
    new Map(Array.from(sent, ([side, one]): [Side, number] => [side, of(one)]));
  const summed = (of: (prompt: Prompt) => number) =>
    mapped(({ prompts }) => prompts.reduce((sum, prompt) => sum + of(prompt), 0));
  const messages = summed(messageChars);
  const all = summed(wholeChars);
  const kept = mapped(({ isKept }) => Number(isKept));
  if (kept.get("ours") !== 1) throw new Error("Ours has not kept the value.");
  return [
    figureRow(`${SCENARIO}: characters of messages`, "characters", messages),
    ...ratiosOf(`${SCENARIO}, messages`, messages, MESSAGE_GOALS),
    figureRow(`${SCENARIO}: characters of messages and tools`, "characters", all),
    ...ratiosOf(`${SCENARIO}, messages and tools`, all, WHOLE_GOALS),
    figureRow(
      `${SCENARIO}: model calls`,
      "calls",
      mapped(({ prompts }) => prompts.length),
    ),
    figureRow(`${SCENARIO}: value readable to the byte`, "1 or 0", kept),
    figureRow(
      `${SCENARIO}: value in the last prompt`,
      "1 or 0",
      mapped((one) => Number(one.isInPrompt)),
    ),
  ];
}

function messageChars({ messages }: Prompt): number {
  return messages.length;
}

function wholeChars(prompt: Prompt | undefined): number {
  return prompt === undefined ? 0 : prompt.messages.length + prompt.tools.length;
}

function ratiosOf(name: string, chars: ReadonlyMap<Side, number>, goals: Goals): readonly Row[] {
  return Array.from(chars).flatMap(([side, others]): Row[] => {
    if (side === "ours") return [];
    const value = (chars.get("ours") ?? Number.NaN) / others;
    const row = { name: `${name}: against ${side}`, value, unit: "times", against: side };
    return [plainRow(row, goals[side] ?? null)];
  });
}

interface Tokenizer {
  countTokens(text: string): number;
}

/** Uses a tokenizer that is installed with the peers. */
async function tokenRows(sent: ReadonlyMap<Side, Sent>): Promise<readonly Row[]> {
  const path = join(import.meta.dirname, "peers/tokens.ts");
  if (!existsSync(join(import.meta.dirname, "peers/node_modules"))) return [];
  const { countTokens } = (await import(pathToFileURL(path).href)) as Tokenizer;
  const counts = (textsOf: (prompts: readonly Prompt[]) => readonly string[]) =>
    new Map(
      Array.from(sent, ([side, { prompts }]): [Side, number] => [
        side,
        textsOf(prompts).reduce((sum, text) => sum + countTokens(text), 0),
      ]),
    );
  const whole = (prompts: readonly Prompt[]) => prompts.map(wholeOf);
  return [
    figureRow(`${SCENARIO}: tokens of all calls`, "tokens", counts(whole)),
    figureRow(`${SCENARIO}: tokens that no call before had`, "tokens", counts(newIn)),
  ];
}

/** Tools come first, in the order that providers use for their caches. */
function wholeOf({ tools, messages }: Prompt): string {
  return `${tools}\n${messages}`;
}

/** The part of each prompt that differs from the one before; a provider may have cached the common start. */
function newIn(prompts: readonly Prompt[]): readonly string[] {
  let before = "";
  return prompts.map((prompt) => {
    const text = wholeOf(prompt);
    let same = 0;
    while (same < text.length && text[same] === before[same]) same++;
    before = text;
    return text.slice(same);
  });
}

const contest = await startContest(SIDES, { METER: "on", TOOLS: "on" });
try {
  const sent = new Map<Side, Sent>();
  for (const side of SIDES) sent.set(side, await converse(contest, side));
  const rows = [...rowsOf(sent), ...(await firstQuestion(sent)), ...(await tokenRows(sent))];
  report({ rows: [...rows, ...(await smallTurns(contest)), await answerFromData(contest)] });
} finally {
  contest.stop();
}
