/**
 * Measures what the model receives, and what it has to write: `npm run bench -- prompt`. One tool result of
 * 200 KB, then six questions; and a stored report of 1 MB in an answer, by one reference. The results do not
 * depend on speed.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { requireExact } from "./ask.ts";
import type { Load } from "./load.ts";
import type { Metered, Prompt } from "./meter.ts";
import { REPORT_CHARS, reportOf } from "./report.ts";
import { plainRow, report, type Row } from "./results.ts";
import { type Contest, present, type Side, startContest, urlOf } from "./sides.ts";
import { spreadOf } from "./statistics.ts";

const SIDES = present(["ours", "kept", "ai-chat", "ai-chat, pruned", "think", "think, short"]);
const FOLLOW_UPS = 6;
const GOAL = 0.01;
const STORED_CHARS = 1_000_000;
/** For the agent with the tool, without a call. */
const QUESTION: Load = { deltas: 20, gapMs: 0, tool: "fetch_report" };
const REPORT_JSON = JSON.stringify(reportOf(REPORT_CHARS));

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
  const url = urlOf(contest.server, side);
  const { prompts } = (await (await fetch(`${url}/bench/meter`)).json()) as Metered;
  const kept = await keptAt(url, side);
  const last = prompts.at(-1)?.messages ?? "";
  return {
    prompts,
    isKept: kept.includes(REPORT_JSON),
    isInPrompt: last.includes(REPORT_JSON),
  };
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
  return plainRow(
    { ...row, against: `the ${STORED_CHARS.toLocaleString("en-US")} that are read` },
    20,
  );
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
  const messages = summed((prompt) => prompt.messages.length);
  const all = summed((prompt) => prompt.messages.length + prompt.tools.length);
  const kept = mapped(({ isKept }) => Number(isKept));
  const first = mapped(({ prompts: [prompt] }) =>
    prompt === undefined ? 0 : prompt.messages.length + prompt.tools.length,
  );
  const isKept = kept.get("ours") === 1;
  return [
    figureRow(`${SCENARIO}: characters of messages`, "characters", messages),
    ...ratiosOf(`${SCENARIO}, messages`, messages, isKept),
    figureRow(`${SCENARIO}: characters of messages and tools`, "characters", all),
    ...ratiosOf(`${SCENARIO}, messages and tools`, all, isKept),
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
    figureRow("prompt of a first question, tools too", "characters", first),
  ];
}

function ratiosOf(name: string, chars: ReadonlyMap<Side, number>, isKept: boolean): readonly Row[] {
  return Array.from(chars).flatMap(([side, others]): Row[] => {
    if (side === "ours") return [];
    const value = (chars.get("ours") ?? Number.NaN) / others;
    // The goal is for peers with default options; an option that drops data from the prompt also hides it
    // from the model.
    const goal = ["kept", "ai-chat", "think"].includes(side) ? GOAL : null;
    const row = plainRow({ name: `${name}: against ${side}`, value, unit: "times" }, goal);
    return [{ ...row, against: side, met: row.met === null ? null : row.met && isKept }];
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

/** In the order that providers use for their caches: tools come first. */
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
  const rows = [...rowsOf(sent), ...(await tokenRows(sent)), await answerFromData(contest)];
  report({ rows });
} finally {
  contest.stop();
}
