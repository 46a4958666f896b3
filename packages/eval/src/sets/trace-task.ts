import * as z from "zod";
import { isJsonObject, type Json } from "../../../../src/value/json.ts";
import { formatPath, type Path } from "../../../../src/value/path.ts";
import type { Task } from "../tasks/task.ts";
import { textTask } from "../tasks/text-task.ts";
import type { SetRecord } from "./read-records.ts";
import { providerName, recordedTools } from "./recorded-tools.ts";

/** The format of `npm run replay`: calls with references, and what each tool received and returned. */
const traceSchema = z.object({
  id: z.string(),
  steps: z
    .array(
      z.object({
        tool: z.string(),
        label: z.string().nullish(),
        labels: z.array(z.string()).optional(),
        input: z.record(z.string(), z.json()),
        refs: z.array(
          z.object({ name: z.string(), path: z.array(z.union([z.string(), z.number()])) }),
        ),
        expect: z.json(),
        output: z.json(),
      }),
    )
    .min(1),
});

const textSchema = z.object({ id: z.string(), text: z.string() });

type TraceStep = z.infer<typeof traceSchema>["steps"][number];

/** Makes a task of a record in the format of `npm run replay`: calls, or a text without references. */
export function traceTask(record: SetRecord): Task | undefined {
  const text = textSchema.safeParse(record);
  if (text.success) return textTask({ ...text.data, family: "texts" });
  const trace = traceSchema.safeParse(record);
  if (!trace.success) return undefined;
  const { id, steps } = trace.data;
  const calls = steps.map(({ tool, expect, output }) => ({ tool, input: expect, output }));
  const definitions = [...new Set(steps.map(({ tool }) => tool))].map((name) => ({
    name,
    description: `Makes the call ${name}.`,
    inputSchema: { type: "object" as const, properties: propertiesOf(steps, name) },
  }));
  return {
    id: `trace-${id}`,
    family: "traces",
    size: JSON.stringify(calls).length,
    turns: [{ user: questionOf(steps) }],
    open() {
      const { tools, missing } = recordedTools(definitions, calls);
      return {
        tools,
        check() {
          const [left] = missing();
          if (left === undefined) return { isRight: true };
          return { isRight: false, why: `${left.tool} was not called as recorded` };
        },
      };
    },
  };
}

/** Parameters by what they received. Their types differ between calls. */
function propertiesOf(steps: readonly TraceStep[], tool: string) {
  const inputs = steps.filter((step) => step.tool === tool).map(({ expect }) => expect);
  const keys = inputs.flatMap((input) => (isJsonObject(input) ? Object.keys(input) : []));
  return Object.fromEntries([...new Set(keys)].map((key) => [key, {}]));
}

/** The gold references become words that belong to no syntax of references. */
function questionOf(steps: readonly TraceStep[]): string {
  const places = new Map<string, string>();
  const lines = steps.map(({ tool, input, refs, label, labels }, index) => {
    const text = JSON.stringify(input).replaceAll(/⟦(\d+)⟧/gu, (_, at: string) => {
      const { name = "", path = [] } = refs[Number(at)] ?? {};
      // Inside of a string of JSON.
      return JSON.stringify(`⟦${places.get(name) ?? name}${formatPath(pathOf(path))}⟧`).slice(
        1,
        -1,
      );
    });
    if (typeof label === "string") places.set(label, String(index + 1));
    for (const one of labels ?? []) places.set(one, `${index + 1}${formatPath(pathOf([one]))}`);
    return `${index + 1}. ${providerName(tool)} ${text}`;
  });
  return `Make these calls in this order, one after the other, with exactly these arguments. ⟦2.a[0]⟧ stands for the part .a[0] of the result of call 2, ⟦2⟧ for all of it; as a whole argument it is the value itself.\n${lines.join("\n")}\nAnswer "done" when all are made.`;
}

function pathOf(keys: readonly (string | number)[]): Path {
  return keys.map((key) => (typeof key === "string" ? { key } : { index: key }));
}

/** Reads the calls of a question. */
export function callsIn(
  question: string,
): readonly { readonly tool: string; readonly input: Json }[] {
  return Array.from(
    question.matchAll(/^\d+\. ([\w-]+) (\{.*\})$/gmu),
    ([, tool = "", text = ""]) => ({
      tool,
      input: JSON.parse(text) as Json,
    }),
  );
}
