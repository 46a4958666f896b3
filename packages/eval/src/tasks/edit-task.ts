import { Random } from "../random.ts";
import { documentTools } from "./bytes-task.ts";
import { recordsOf } from "./documents.ts";
import { lastCall } from "./recording-tool.ts";
import type { Task } from "./task.ts";
import { intact } from "./verdict.ts";

/** One field of one record changes; everything else must arrive as it was. */
export function editTask({ size, seed }: { readonly size: number; readonly seed: number }): Task {
  const random = new Random(seed);
  const records = recordsOf(size, random);
  const { id } = random.one(records);
  const expected = records.map((record) =>
    record.id === id ? { ...record, status: "closed" } : record,
  );
  return {
    id: `edit-${size}-${seed}`,
    family: "edit",
    size,
    turns: [
      {
        user: `Fetch the document "list-${seed}" with fetch_document. In the record whose "id" is "${id}", change "status" to "closed", and change nothing else. Store the whole document as "list-${seed}-b" with store_document. Answer "done" when it is stored.`,
      },
    ],
    open() {
      const { tools, received } = documentTools(records);
      return {
        tools,
        check: () => intact(expected, lastCall(received, "store_document")?.content),
      };
    },
  };
}
