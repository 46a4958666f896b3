import * as z from "zod";
import { Random } from "../random.ts";
import { codeOf, documentOf, nameOf, sentenceOf } from "./documents.ts";
import { lastCall, recordingTools } from "./recording-tool.ts";
import type { Task, Turn } from "./task.ts";
import { same } from "./verdict.ts";

const TURNS = 40;
const TURN_OF_FACT = 3;
/** Turns in which a document is looked at. The fact is in the middle of them. */
const TURNS_OF_DOCUMENTS = [1, 2, 8, 15];

export interface LongOptions {
  /** Characters of all documents that are looked at. */
  readonly size: number;
  readonly seed: number;
}

/** A fact of the third turn is needed in the fortieth. Only the last turn is the model's. */
export function longTask({ size, seed }: LongOptions): Task {
  const random = new Random(seed);
  const person = nameOf(random);
  const booking = { code: codeOf(random), name: person, remarks: sentenceOf(random, 220) };
  const share = Math.ceil(size / TURNS_OF_DOCUMENTS.length);
  const documents = TURNS_OF_DOCUMENTS.map(() => documentOf("text", share, random));
  const turns = Array.from({ length: TURNS }, (_, index) => turnOf(index + 1, { person, random }));
  return {
    id: `long-${size}-${seed}`,
    family: "long",
    size,
    turns,
    open() {
      const left = [...documents];
      const { tools, received } = recordingTools({
        get_booking: {
          description: "Returns a person's booking.",
          input: { name: z.string() },
          run: () => booking,
        },
        fetch_document: {
          description: "Returns the content of a document.",
          input: { name: z.string() },
          run: () => left.shift() ?? "",
        },
        cancel_booking: {
          description: "Cancels the booking with this code.",
          input: { code: z.string() },
          run: ({ code }) => ({ cancelled: code ?? null }),
        },
      });
      return { tools, check: () => same(booking.code, lastCall(received, "cancel_booking")?.code) };
    },
  };
}

function turnOf(
  turn: number,
  { person, random }: { readonly person: string; readonly random: Random },
): Turn {
  if (turn === TURN_OF_FACT) {
    const call = { tool: "get_booking", input: { name: person } };
    return played(`Look at the booking of ${person} with get_booking.`, [call, "I have it."]);
  }
  if (TURNS_OF_DOCUMENTS.includes(turn)) {
    const call = { tool: "fetch_document", input: { name: `note-${turn}` } };
    return played(`Look at the document "note-${turn}" with fetch_document.`, [call, "I have it."]);
  }
  if (turn < TURNS) return played(`For your notes: ${sentenceOf(random, 20)}`, ["Noted."]);
  return {
    user: `Cancel the booking of ${person} that you looked at in the beginning: pass its "code" to cancel_booking. Do not look it up again. Answer "done" when it is cancelled.`,
  };
}

function played(user: string, script: NonNullable<Turn["script"]>): Turn {
  return { user, script, isPlayed: false };
}
