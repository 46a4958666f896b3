import { tool, type ToolSet } from "ai";
import * as z from "zod";

const ROWS = 5_000;

/** SAMPLE DATA: a price list of about 300 KB. */
function priceList(): string {
  const rows = Array.from({ length: ROWS }, (_, index) => {
    const price = index % 500 === 0 ? 19 : 5 + (index % 13);
    return `<tr><td>Item ${index + 1}</td><td class="price">EUR ${price}</td></tr>`;
  });
  return `<title>Prices 2025</title>\n<table>\n${rows.join("\n")}\n</table>\n`;
}

/** Changes a large page by reference, and publishes it after a person has reviewed the changes. */
export const pages = {
  name: "pages",
  description: "Changes a page of 300 KB, and publishes it when you approve the changes.",
  instructions:
    "Change pages with edit_variable, never by writing them again, and publish them by reference.",
  tools: {
    get_page: tool({
      description: "Fetches a page's HTML.",
      inputSchema: z.object({ path: z.string() }),
      execute: priceList,
    }),
    publish_page: tool({
      description: "Publishes a page. A person approves it.",
      inputSchema: z.object({ path: z.string(), html: z.string() }),
      needsApproval: true,
      execute: ({ path, html }) => ({ path, published: true, characters: html.length }),
    }),
  } satisfies ToolSet,
  effects: { get_page: "none" },
} as const;
