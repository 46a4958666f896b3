import * as z from "zod";
import type { Task } from "../tasks/task.ts";
import { jsonField, type SetRecord } from "./read-records.ts";
import { type RecordedCall, recordedTools } from "./recorded-tools.ts";

const turnSchema = z.object({
  role: z.string(),
  content: z.unknown().optional(),
  function_call: z
    .array(z.object({ name: z.string(), arguments: z.record(z.string(), z.json()) }))
    .optional(),
});

const rowSchema = z.object({
  id: z.coerce.string(),
  conversations: z.array(turnSchema).min(2),
  functions: z.array(
    z.object({
      name: z.string(),
      description: z.string().default(""),
      parameters: z.record(z.string(), z.unknown()),
    }),
  ),
});

/**
 * Makes a task of a row of ComplexFuncBench: the tools answer the recorded calls. A task is right if all of
 * them were made with the recorded arguments; the set's own evaluation is more lenient, because it lets a
 * model judge.
 */
export function complexFuncBenchTask(record: SetRecord): Task | undefined {
  if (!("conversations" in record)) return undefined;
  const fields = {
    conversations: jsonField(record, "conversations"),
    functions: jsonField(record, "functions"),
  };
  const row = rowSchema.safeParse({ ...record, ...fields });
  if (!row.success) return undefined;
  const { id, conversations, functions } = row.data;
  const question = conversations[0]?.content;
  const calls = callsOf(conversations);
  if (typeof question !== "string" || calls.length === 0) return undefined;
  return {
    id: `complexfuncbench-${id}`,
    family: "complexfuncbench",
    size: JSON.stringify(calls).length,
    turns: [{ user: question }],
    open() {
      const definitions = functions.map(({ name, description, parameters }) => ({
        name,
        description,
        inputSchema: parameters,
      }));
      const { tools, missing } = recordedTools(definitions, calls);
      return {
        tools,
        check() {
          const left = missing();
          if (left.length === 0) return { isRight: true };
          return { isRight: false, why: `${left.length} of ${calls.length} calls are missing` };
        },
      };
    },
  };
}

/** A turn with calls is followed by one with their answers, in the same order. */
function callsOf(turns: readonly z.infer<typeof turnSchema>[]): readonly RecordedCall[] {
  return turns.flatMap(({ function_call: made }, index) => {
    if (made === undefined) return [];
    const answers = turns[index + 1]?.content;
    const list: readonly unknown[] = Array.isArray(answers) ? answers : [answers];
    return made.map(({ name, arguments: input }, at) => {
      const output = z.json().safeParse(list[at]);
      return { tool: name, input, output: output.success ? output.data : null };
    });
  });
}
