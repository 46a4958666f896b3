import type { RecordsFormat } from "../../store/bytes/receive.ts";
import type { OpenValue } from "../../store/variable.ts";
import { type JsonArray, parsedJson } from "../../value/json.ts";

/** The elements of an array, in parts. Can be read more than once, until it is closed. */
export interface Elements {
  read(): AsyncIterable<JsonArray>;
  close(): void;
}

/** A value that is stored as records. */
export type OpenRecords = Pick<Required<OpenValue>, "lines" | "close">;

/** The elements of stored records. They are read from storage as they are needed. */
export function storedRecords({ lines, close }: OpenRecords): Elements {
  return {
    async *read() {
      for await (const part of lines()) yield part.map(parsedJson);
    },
    close,
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

/** A CSV that is written while it is read. Closes the elements at its end. Throws what is wrong with the columns. */
export function csvBody(
  csv: RecordsFormat,
  elements: Elements,
): Promise<ReadableStream<Uint8Array>> {
  return bodyFrom(
    csv.write(() => elements.read()),
    () => elements.close(),
  );
}

/** A body that is made while it is read, from its first part on. Throws what is wrong with the first part. */
export async function bodyFrom(
  parts: AsyncGenerator<Uint8Array>,
  close: () => void,
): Promise<ReadableStream<Uint8Array>> {
  const read = async () => {
    const part = await parts.next().catch((error: unknown) => {
      close();
      throw error;
    });
    if (part.done === true) close();
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
      cancel: () => close(),
    },
    { highWaterMark: 0 },
  );
}
