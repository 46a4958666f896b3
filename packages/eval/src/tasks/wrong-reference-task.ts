import * as z from "zod";
import { Random } from "../random.ts";
import { recordsOf } from "./documents.ts";
import { lastCall, recordingTools } from "./recording-tool.ts";
import type { Task } from "./task.ts";
import { intact } from "./verdict.ts";

const CHARS = 6_000;

/** The first call names a variable that does not exist. The model has to recover by the error that it reads. */
export function wrongReferenceTask({ seed }: { readonly seed: number }): Task {
  const parts = recordsOf(CHARS, new Random(seed));
  return {
    id: `wrong-reference-${seed}`,
    family: "wrong reference",
    size: CHARS,
    turns: [
      {
        user: `Call list_parts, then pass the whole list to print_table. Answer "done" when it is printed.`,
        script: [
          { tool: "list_parts", input: {} },
          { tool: "print_table", input: { rows: "$part_list" } },
        ],
      },
    ],
    open() {
      const { tools, received } = recordingTools({
        list_parts: { description: "Returns all parts.", input: {}, run: () => parts },
        print_table: {
          description: "Prints records as a table.",
          input: { rows: z.array(z.record(z.string(), z.json())) },
          run: () => ({ printed: true }),
        },
      });
      return { tools, check: () => intact(parts, lastCall(received, "print_table")?.rows) };
    },
  };
}
