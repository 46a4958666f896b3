import * as limits from "../../limits.ts";
import type { RecordsFormat } from "../../store/bytes/receive.ts";
import { recordLines } from "../../value/encode-json.ts";
import type { OpenValue } from "../../store/variable.ts";
import { type JsonArray, parsedJson } from "../../value/json.ts";

/** The elements of an array, in parts. Can be read more than once, until it is closed. */
export interface Elements {
  read(): AsyncIterable<JsonArray>;
  close(): void;
}

type OpenRecords = Pick<OpenValue, "read"> & { readonly info: { readonly bytes: number } };

/** The elements of stored records. They are read from storage as they are needed. */
export function storedRecords(open: OpenRecords & Pick<OpenValue, "close">): Elements {
  return {
    async *read() {
      for await (const lines of linesOf(open)) yield lines.map(parsedJson);
    },
    close: () => open.close(),
  };
}

/** The lines of stored records, in parts. */
export async function* linesOf({ info, read }: OpenRecords): AsyncGenerator<readonly string[]> {
  const step = limits.maxWholeBodyBytes;
  const utf8 = new TextDecoder();
  let held = "";
  for (let from = 0; from < info.bytes; from += step) {
    held += utf8.decode(await read(from, Math.min(from + step, info.bytes)), { stream: true });
    const end = held.lastIndexOf("\n") + 1;
    if (end > 0) yield recordLines(held.slice(0, end));
    held = held.slice(end);
  }
  yield recordLines(held);
}

const PART_ELEMENTS = 1_000;

/** The elements of an array in memory. */
export function elementsOf(array: JsonArray): Elements {
  return {
    async *read() {
      for (let from = 0; from < array.length; from += PART_ELEMENTS) {
        yield array.slice(from, from + PART_ELEMENTS);
      }
    },
    close: () => undefined,
  };
}

/**
 * A CSV that is written while it is read, from its first part on. Closes the elements at its end. Throws what
 * is wrong with the columns.
 */
export async function csvBody(
  csv: RecordsFormat,
  elements: Elements,
): Promise<ReadableStream<Uint8Array>> {
  const parts = csv.write(() => elements.read());
  const read = async () => {
    const part = await parts.next().catch((error: unknown) => {
      elements.close();
      throw error;
    });
    if (part.done === true) elements.close();
    return part;
  };
  let next: Awaited<ReturnType<typeof read>> | undefined = await read();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = next ?? (await read());
        next = undefined;
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => elements.close(),
    },
    { highWaterMark: 0 },
  );
}
