import { expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import { CHARS_PER_TOKEN } from "../../src/tool/tool-output.ts";
import { slow } from "../support/slow.ts";
import { costOfLooking, listChars, promptChars } from "../support/on-demand.ts";

/** Servers with tools of about the size that published ones have. */
const servers = ["crm", "shop", "mail"].map((name) => ({
  name,
  tools: Array.from({ length: 40 }, (_, at) => ({
    name: `${name}_act_${at}`,
    description: `Does thing ${at}. ${"It says at length how it is done. ".repeat(10)}`,
    inputSchema: {
      type: "object" as const,
      properties: Object.fromEntries(
        ["id", "query", "limit"].map((key) => [
          key,
          { type: "string", description: `The ${key}.` },
        ]),
      ),
    },
  })),
}));

it(
  "tools on demand are under a fifth of the first prompt, and 40 % of ten turns",
  slow,
  async () => {
    const [found, all] = [await promptChars(servers, true), await promptChars(servers, false)];
    expect(found.first / all.first).toBeLessThan(0.2);
    expect(found.all / all.all).toBeLessThan(0.4);
    const lists = [await listChars(servers, "search"), await listChars(servers, "list")] as const;
    expect(lists[0] / lists[1]).toBeLessThan(0.2);
  },
);

const records = Array.from({ length: 500 }, (_, at) => ({ id: `ord_${at}`, total: at * 7 }));

it.each<[string, Json]>([
  ["records", records],
  ["numbers", records.map(({ total }) => total * 1_001)],
  ["a text", "Words of a text, in lines.\n".repeat(500)],
])("a handle says within a tenth what reading %s costs, in 20 characters", async (_kind, value) => {
  const { chars, tokens, read } = await costOfLooking(value);
  expect(chars).toBeLessThanOrEqual(20);
  expect(read / CHARS_PER_TOKEN / tokens).toBeGreaterThan(0.95);
  expect(read / CHARS_PER_TOKEN / tokens).toBeLessThan(1.1);
});
