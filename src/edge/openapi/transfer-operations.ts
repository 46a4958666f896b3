import * as z from "zod";
import * as limits from "../../limits.ts";
import { locationQuery } from "../placement.ts";
import { forkBody } from "../routes/transfer.ts";
import type { Described } from "./document.ts";
import { json, text } from "./parameters.ts";

const part = z.int().min(1).max(limits.maxTransferParts).default(1);
const file = { "application/x-ndjson": text };
const made = z.strictObject({ id: text });
const partTaken = z.strictObject({
  import: text.describe("For the parts that follow"),
  part: z.int().min(1),
  of: z.int().min(1),
});

/** Conversations out, in, and beside themselves. */
export const transferApi: Described = {
  components: { ForkBody: forkBody, Made: made, PartTaken: partTaken },
  operations: {
    "GET /conversations/:id/export": {
      summary: "Writes the whole conversation as a file; secrets are left out",
      answers: { 200: file },
    },
    "POST /conversations/:id/fork": {
      summary: "Copies it under a new id",
      query: { location: locationQuery },
      body: json(forkBody),
      isBodyOptional: true,
      answers: { 201: json(made) },
    },
    "POST /conversations/import": {
      summary: "Brings a file back, in one part or several",
      query: {
        part,
        of: part,
        import: text.optional().describe("What the answer to part 1 said"),
        location: locationQuery,
      },
      body: file,
      answers: { 201: json(made), 202: json(partTaken) },
    },
  },
};
