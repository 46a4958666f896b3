import { expect, it } from "vitest";
import { mixedRequests, newChars } from "../support/mixed-talk.ts";
import { slow } from "../support/slow.ts";

it(
  "each request of 50 mixed turns begins like the previous one, with nine tenths of all characters",
  slow,
  async () => {
    const requests = await mixedRequests(50);
    const chars = requests.reduce((sum, request) => sum + request.length, 0);
    // The requests contain large results, removals and compaction, and the text that these add to a prompt.
    for (const part of ["<history>", "$sheet_7: removed", "$sheet_14", '"try":[', "list_variables"])
      expect(requests.some((request) => request.includes(part))).toBe(true);
    expect(newChars(requests)).toBeLessThanOrEqual(chars / 10);
  },
);
