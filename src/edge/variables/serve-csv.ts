import * as limits from "../../limits.ts";
import type { RecordsFormat } from "../../store/bytes/receive.ts";
import type { OpenValue } from "../../store/variable.ts";
import { type JsonArray, parsedJson } from "../../value/json.ts";

/** The elements of an array, in parts. Can be read more than once, until it is closed. */
export interface Elements {
  read(): AsyncIterable<JsonArray>;
  close(): void;
}

/** The elements of stored records. They are read from storage as they are needed. */
export function storedRecords(open: Pick<OpenValue, "info" | "read" | "close">): Elements {
  const step = limits.maxWholeBodyBytes;
  return {
    async *read() {
      const utf8 = new TextDecoder();
      let held = "";
      for (let from = 0; from < open.info.bytes; from += step) {
        const bytes = await open.read(from, Math.min(from + step, open.info.bytes));
        const lines = (held + utf8.decode(bytes, { stream: true })).split("\n");
        held = lines.pop() ?? "";
        yield lines.map(parsedJson);
      }
    },
    close: () => open.close(),
  };
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
