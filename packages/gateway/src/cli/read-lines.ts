import type { Stream } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** Longer lines are not held. */
const MAX_LINE_CHARS = 16_384;
const TOO_LONG = `(a line of more than ${MAX_LINE_CHARS} characters)`;

/** Calls `onLine` for each line that is not empty. A line that is too long is replaced as a whole. */
export function readLines(stream: Stream, onLine: (line: string) => void): void {
  const decoder = new StringDecoder("utf8");
  let held = "";
  let isTooLong = false;
  const end = () => {
    if (isTooLong) onLine(TOO_LONG);
    else if (held !== "") onLine(held);
    held = "";
    isTooLong = false;
  };
  stream.on("data", (chunk: Buffer) => {
    const [first = "", ...others] = decoder.write(chunk).split(/\r?\n/u);
    add(first);
    for (const part of others) {
      end();
      add(part);
    }
  });
  stream.on("end", end);

  function add(text: string): void {
    isTooLong ||= held.length + text.length > MAX_LINE_CHARS;
    held = isTooLong ? "" : held + text;
  }
}
