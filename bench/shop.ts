import { tool } from "ai";
import * as z from "zod";
import { REPORT_CHARS, reportOf, SMALL } from "./report.ts";

/** As the prompt of everybody who is measured begins. */
export const INSTRUCTIONS = "Say words.";

const about = z.object({ about: z.string() });

/** A small result, and a large one. The peers' bundle has tools of its own, of the packages that it brings. */
export const shopTools = {
  check: tool({ description: "Checks a thing.", inputSchema: about, execute: () => SMALL }),
  fetch_report: tool({
    description: "All orders.",
    inputSchema: about,
    execute: () => reportOf(REPORT_CHARS),
  }),
};

export const shop = {
  name: "shop",
  description: "Knows the orders of a shop.",
  instructions: INSTRUCTIONS,
  tools: shopTools,
};
