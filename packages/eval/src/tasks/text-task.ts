import * as z from "zod";
import { lastCall, recordingTools } from "./recording-tool.ts";
import type { Family, Task } from "./task.ts";
import { intact } from "./verdict.ts";

export interface TextOptions {
  readonly id: string;
  readonly family: Family;
  readonly text: string;
}

/** A text of the user that must reach a tool unchanged, also if parts of it look like references. */
export function textTask({ id, family, text }: TextOptions): Task {
  return {
    id,
    family,
    size: text.length,
    turns: [
      {
        user: `Pass exactly the text between <text> and </text>, without the line breaks beside the tags, to store_text. Answer "done" when it is stored.\n<text>\n${text}\n</text>`,
      },
    ],
    open() {
      const { tools, received } = recordingTools({
        store_text: {
          description: "Stores a text.",
          input: { text: z.string() },
          run: () => ({ stored: true }),
        },
      });
      return { tools, check: () => intact(text, lastCall(received, "store_text")?.text) };
    },
  };
}
