import * as z from "zod";
import { Random } from "../random.ts";
import { CITIES, codeOf, sentenceOf } from "./documents.ts";
import { lastCall, recordingTools } from "./recording-tool.ts";
import type { Task } from "./task.ts";
import { intact } from "./verdict.ts";

const COUNT = 40;

/** The ids of forty records go from one call into the next. */
export function idsTask({ seed }: { readonly seed: number }): Task {
  const random = new Random(seed);
  const shipments = Array.from({ length: COUNT }, () => ({
    id: `${codeOf(random)}-${random.next().toString(16)}`,
    city: random.one(CITIES),
    note: sentenceOf(random, 8),
  }));
  const ids = shipments.map(({ id }) => id);
  return {
    id: `ids-${seed}`,
    family: "ids",
    size: JSON.stringify(shipments).length,
    turns: [
      {
        user: `Call list_shipments, then cancel all ${COUNT} shipments with one call of cancel_shipments. Answer "done" when they are cancelled.`,
      },
    ],
    open() {
      const { tools, received } = recordingTools({
        list_shipments: {
          description: "Returns all shipments.",
          input: {},
          run: () => shipments,
        },
        cancel_shipments: {
          description: "Cancels the shipments with these ids.",
          input: { ids: z.array(z.string()) },
          run: ({ ids: given }) => ({ cancelled: Array.isArray(given) ? given.length : 0 }),
        },
      });
      return { tools, check: () => intact(ids, lastCall(received, "cancel_shipments")?.ids) };
    },
  };
}
