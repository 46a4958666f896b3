import * as z from "zod";
import { createExpander } from "../../../../src/references.ts";
import { runtimeTool } from "../../../../src/internal-tool.ts";

/** Writes a text as an answer is shown: values in place of its references, records as tables. */
export const writeAnswer = runtimeTool({
  name: "write_answer",
  description: "Write a text with values in place of its references, as an answer is shown.",
  inputSchema: z.object({ text: z.string() }),
  async execute({ text }, { lookup }) {
    const expander = createExpander(lookup, { syntaxes: ["dagger"] });
    const value = (await expander.push(text)) + (await expander.end());
    return { output: value, value };
  },
});
