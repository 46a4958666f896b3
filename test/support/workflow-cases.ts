import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { asSchema, type ToolSet } from "ai";
import { expect } from "vitest";
import * as z from "zod";
import type { Json } from "../../src/value/json.ts";
import { failure, type OfferedTool, textResult } from "./mcp-server.ts";
import { cases, type PlanRun } from "./plans.ts";
import { specified } from "./plan-runs.ts";
import { toolOf } from "./tool-of.ts";

/** A workflow of the specification that can run. */
interface Workflow {
  readonly name: string;
  readonly type: "application/json" | "application/xml";
  readonly text: string;
  /** Variables of the conversation that the workflow reads. */
  readonly saved: Readonly<Record<string, Json>>;
  readonly runs: readonly WorkflowRun[];
}

interface WorkflowRun {
  readonly input: Json;
  /** The output of each call; undefined for one that does not run or fails. */
  readonly outputs: readonly unknown[];
}

type Call = Readonly<Record<string, Json>>;

const folder = join(import.meta.dirname, "../cases/workflows");
const read = (name: string) => readFileSync(join(folder, name), "utf8");

/** Returns all workflows in `test/cases/workflows` that pass the check. */
export function workflows(): readonly Workflow[] {
  const capabilities = JSON.parse(read("capability.json")) as {
    cases: readonly { name: string; calls: readonly Call[] }[];
  };
  return [
    ...cases.filter(({ rejected }) => rejected === undefined).map(jsonWorkflow),
    ...capabilities.cases.flatMap(({ name, calls }, at) => {
      const sessions = [...new Set(calls.map((call) => String(call["session"])))];
      return sessions.map((session, index) => {
        const mine = calls.filter((call) => call["session"] === session);
        return capabilityWorkflow(`${name}, ${session}`, mine, `given_${at}_${index}`);
      });
    }),
    summary,
  ];
}

/** The tools that the workflows call. */
export const workflowTools: ToolSet = {
  ...specified,
  memory_recall: toolOf({ query: z.string() }, ({ query }) => `my ${query}`),
  web_generate: toolOf({ content: z.string() }, ({ content }) => `# ${content}`),
  filesystem_write: toolOf({ path: z.string(), content: z.string() }, ({ path }) => ({ path })),
};

/** Returns the same tools in the form that an MCP server offers. */
export async function offeredTools(): Promise<readonly OfferedTool[]> {
  const all = Object.entries(workflowTools).map(async ([name, { inputSchema, execute }]) => ({
    name,
    // An object schema, as MCP requires.
    inputSchema: (await asSchema(inputSchema).jsonSchema) as Tool["inputSchema"],
    answer: async (input: unknown) => {
      try {
        const output: unknown = await execute?.(input as never, {} as never);
        return textResult(JSON.stringify(output));
      } catch (error) {
        return failure(String(error));
      }
    },
  }));
  return Promise.all(all);
}

function jsonWorkflow({ name, calls, runs, ...one }: (typeof cases)[number]): Workflow {
  return {
    name,
    type: "application/json",
    text: JSON.stringify({ name, calls }),
    saved: {},
    runs: (runs ?? [one]).map((run) => ({
      input: run.input ?? {},
      outputs: calls.map((call) => writtenBy(call, run)),
    })),
  };
}

/** Returns the value in the run's state at the place that the call writes to. */
function writtenBy(call: Call, { state = {} }: PlanRun): Json | undefined {
  const places = String(call["_outputPath"]).split(/ (?:\|\||&&) /u);
  const values = places.map((place) => {
    const keys = place.replace("†state.", "").split(".");
    return keys.reduce<Json | undefined>(
      (at, key) => (at as Readonly<Record<string, Json>> | undefined)?.[key],
      state,
    );
  });
  return values.find((value) => value !== undefined);
}

function capabilityWorkflow(name: string, calls: readonly Call[], prefix: string): Workflow {
  // A tag's body is text, unless it is a single reference.
  const saved = calls.flatMap(({ value }, index): [string, Json][] =>
    value === undefined ? [] : [[`${prefix}_${index}`, value]],
  );
  const tag = ({ action, key, value, content }: Call, index: number) => {
    const about = key === undefined ? "" : ` key="${escaped(key)}"`;
    const body = escaped(content ?? (value === undefined ? "" : `{{${prefix}_${index}}}`));
    return `<capability name="variable" action="${escaped(action)}"${about}>${body}</capability>`;
  };
  return {
    name,
    type: "application/xml",
    text: calls.map(tag).join("\n"),
    saved: Object.fromEntries(saved),
    runs: [
      {
        input: {},
        outputs: calls.map(({ reply, names, value }) => reply ?? names ?? value ?? answered),
      },
    ],
  };
}

/** For cases that do not specify the output. */
const answered: unknown = expect.anything();

const escaped = (text: unknown) =>
  String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

const PROMPT =
  "Create a professional summary combining:\nExperience: my professional experience\nSkills: my skills";

const summary: Workflow = {
  name: "summary.xml",
  type: "application/xml",
  text: read("summary.xml"),
  saved: {},
  runs: [
    {
      input: {},
      outputs: [
        "my professional experience",
        "my skills",
        PROMPT,
        `# ${PROMPT}`,
        { path: "/tmp/summary.md" },
      ],
    },
  ],
};
