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

/** A CSV that is written while it is read. Closes the elements at its end. */
export function csvBody(csv: RecordsFormat, elements: Elements): ReadableStream<Uint8Array> {
  const parts = csv.write(() => elements.read());
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await parts.next();
          if (done !== true) return controller.enqueue(value);
        } catch (error) {
          elements.close();
          throw error;
        }
        elements.close();
        controller.close();
      },
      cancel: () => elements.close(),
    },
    { highWaterMark: 0 },
  );
}
