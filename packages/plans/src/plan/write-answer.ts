import * as z from "zod";
import { createExpander } from "../../../../src/references.ts";
import { runtimeTools } from "../../../../src/internal-tool.ts";

/** True for all texts with a URL or an address, and for some others. */
export const MAY_HAVE_URL = /[a-z][0-9+.-]*:|www\.|@|\/\//i;

/** Writes a text as an answer is shown: values in place of its references, records as tables. */
export const writeAnswer = runtimeTools.runtimeTool({
  name: "write_answer",
  description: "Write a text with values in place of its references, as an answer is shown.",
  inputSchema: z.object({ text: z.string() }),
  async execute({ text }, { lookup, labels }) {
    // As in all that a model wrote, a URL in it must not become a link where the value is printed.
    if (MAY_HAVE_URL.test(text)) labels.compose();
    const expander = createExpander(lookup, { syntaxes: ["dagger"] });
    const value = (await expander.push(text)) + (await expander.end());
    return { output: value, value };
  },
});
