import { runtimeToolNames } from "../../../../src/tool/variables/variable-tools.ts";
import { type DemoPrompt, type DemoScript, type DemoTools, inert } from "./step.ts";
import { type Table, tableOf } from "./tables.ts";
import { recordsFor } from "./words.ts";

const MAX_NAMED = 30;
const MAX_COLUMNS = 12;

/** Says that a demo model answers, and why. */
export function introduction(why: string): string {
  return (
    "I am the demo model of Byref: a script that stands in for a language model's words. The " +
    `tools, the variables and the references are real. ${why}`
  );
}

/** Lists what can be asked with these tools and tables, and how to configure a real model. */
export function abilities(prompt: DemoPrompt, scripts: readonly DemoScript[]): string {
  const examples = Object.assign({}, ...scripts.map((script) => script.examples ?? {}));
  const tools = prompt.tools.filter(({ name }) => !runtimeToolNames.includes(name));
  const tables = tablesIn(prompt);
  const listed = tools.slice(0, MAX_NAMED).map((tool) => ability(tool, examples));
  const more = tools.length > MAX_NAMED ? `\n- and ${tools.length - MAX_NAMED} more tools` : "";
  const able =
    tools.length === 0
      ? "I can: only say this, because no tool is offered."
      : `I can:\n\n${listed.join("\n")}${more}`;
  return `${able}${aboutTables(tables, prompt)}\n\n${SETTING}`;
}

/** The columns of a table, for people. */
export function sayColumns({ columns, isOpen }: Table): string {
  const names = columns.map(({ name }) => name).filter((name) => PLAIN_NAME.test(name));
  const shown = names.slice(0, MAX_COLUMNS);
  const isMore = isOpen || shown.length < columns.length;
  return [...shown, ...(isMore ? ["…"] : [])].join(", ");
}

export function tablesIn({ conversation }: DemoPrompt): readonly Table[] {
  return [...conversation.variables.values()].flatMap((variable) => tableOf(variable) ?? []);
}

/** A column's name may be anything: others are not repeated. */
const PLAIN_NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_ ()%&+-]{0,59}$/u;
const SETTING =
  "I follow rules and do not guess. A language model is one setting away: `MODEL=` in `.dev.vars`, or in the environment.";

function aboutTables(tables: readonly Table[], { tools, conversation }: DemoPrompt): string {
  const own = tables.filter(({ isResult }) => !isResult).slice(-MAX_NAMED);
  const { unlisted } = conversation;
  const more = unlisted === 0 ? "" : `\n- ${unlisted} older variables that my prompt does not list`;
  const canQuery = tools.some(({ name }) => name === "query_variables");
  if ((own.length === 0 && unlisted === 0) || !canQuery) return "";
  const lines = own.map((table) => {
    const size = table.count === undefined ? "" : ` (${table.count} ${recordsFor(table.count)})`;
    return `- ${table.name}${size}: ${sayColumns(table)}`;
  });
  return `\n\nI can count, sum, average and group the records of a table, and filter by equal values:\n\n${lines.join("\n")}${more}`;
}

function ability(tool: DemoTools[number], examples: Readonly<Record<string, string>>): string {
  const purpose = tool.type === "function" ? firstSentence(tool.description ?? "") : "";
  const example = examples[tool.name];
  const advice = example === undefined ? "" : ` Try: "${example}"`;
  return `- ${tool.name}${purpose && `: ${inert(purpose)}`}${advice}`;
}

function firstSentence(text: string): string {
  const line = text.split("\n")[0] ?? "";
  const end = line.indexOf(". ");
  return (end === -1 ? line : line.slice(0, end + 1)).slice(0, 200);
}
