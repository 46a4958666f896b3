import { Agent, request } from "node:http";
import { chunksIn, textIn } from "../test/support/turn-client.ts";
import { answerTo, type Load, questionFor } from "./load.ts";

/** A connection for each question: as many at once as are asked. */
const agent = new Agent({ keepAlive: false });

export interface Asked {
  /** Until the first byte of the answer's body. */
  readonly firstMs: number;
  readonly bytes: number;
  /** All of the answer, to the byte, as it was asked for, with an end. */
  readonly isExact: boolean;
}

/** A message to this URL, and the answer's stream; Node's own client, which costs the least. */
export function ask(url: string, load: Load, more: object = {}): Promise<Asked> {
  const body = JSON.stringify({ message: questionFor(load), ...more });
  const headers = { accept: "text/event-stream", "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const startMs = performance.now();
    let firstMs = Number.NaN;
    const pieces: Buffer[] = [];
    const asking = request(url, { method: "POST", headers, agent }, (response) => {
      response.on("data", (piece: Buffer) => {
        if (pieces.length === 0) firstMs = performance.now() - startMs;
        pieces.push(piece);
      });
      response.once("error", reject);
      response.once("end", () => {
        const bytes = Buffer.concat(pieces);
        resolve({ firstMs, bytes: bytes.length, isExact: isExact(bytes.toString(), load) });
      });
    });
    asking.once("error", reject);
    asking.end(body);
  });
}

function isExact(body: string, load: Load): boolean {
  if (!body.endsWith("data: [DONE]\n\n")) return false;
  const chunks = chunksIn(body);
  return chunks.at(-1)?.type === "finish" && textIn(chunks) === answerTo(load);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
