import { tool } from "ai";
import * as z from "zod";
import { REPORT, SMALL } from "./report.ts";

/** The instructions of every side. */
export const INSTRUCTIONS = "Say words.";

const about = z.object({ about: z.string() });

/** Tools with a small and a large result. The peers' bundle has its own, which use its own packages. */
export const shopTools = {
  check: tool({ description: "Checks a thing.", inputSchema: about, execute: () => SMALL }),
  fetch_report: tool({
    description: "All orders.",
    inputSchema: about,
    execute: () => REPORT,
  }),
};

export const shop = {
  name: "shop",
  description: "Knows the orders of a shop.",
  instructions: INSTRUCTIONS,
  tools: shopTools,
};
