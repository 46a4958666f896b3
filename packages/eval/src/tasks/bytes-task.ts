import * as z from "zod";
import type { Json } from "../../../../src/value/json.ts";
import { Random } from "../random.ts";
import { type DocumentKind, documentOf } from "./documents.ts";
import { lastCall, recordingTools } from "./recording-tool.ts";
import type { Task } from "./task.ts";
import { intact } from "./verdict.ts";

export interface DocumentOptions {
  readonly kind: DocumentKind;
  /** Characters. */
  readonly size: number;
  readonly seed: number;
}

/** A document that must pass from one tool to another unchanged. */
export function bytesTask({ kind, size, seed }: DocumentOptions): Task {
  const random = new Random(seed);
  const content = documentOf(kind, size, random);
  const [name, copy] = [`${kind}-${seed}`, `copy-${seed}`];
  return {
    id: `bytes-${kind}-${size}-${seed}`,
    family: "bytes",
    size,
    turns: [
      {
        user: `Fetch the document "${name}" with fetch_document, then store it unchanged as "${copy}" with store_document. Answer "done" when it is stored.`,
      },
    ],
    open() {
      const { tools, received } = documentTools(content);
      return { tools, check: () => intact(content, lastCall(received, "store_document")?.content) };
    },
  };
}

/** `fetch_document` returns the content, and `store_document` takes one of its type. */
export function documentTools(content: Json) {
  return recordingTools({
    fetch_document: {
      description: "Returns the content of a document.",
      input: { name: z.string() },
      run: () => content,
    },
    store_document: {
      description: "Stores a document under a name.",
      input: {
        name: z.string(),
        content: typeof content === "string" ? z.string() : z.array(z.record(z.string(), z.json())),
      },
      run: () => ({ stored: true }),
    },
  });
}
