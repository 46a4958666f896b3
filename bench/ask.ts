import { Agent, request } from "node:http";
import type { UIMessageChunk } from "ai";
import { chunksIn, textIn } from "../test/support/turn-client.ts";
import { answerTo, type Load, questionFor } from "./load.ts";

/** As many connections as questions at a time, which are kept, as browsers do. */
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

export interface Answer {
  /** Milliseconds until the first delta of text. */
  readonly firstMs: number;
  readonly wholeMs: number;
  readonly bytes: number;
  readonly text: string;
  /** True if the answer is complete and exactly as requested. */
  readonly isExact: boolean;
}

/** Posts a message to this URL and reads the answer's stream. Uses Node's own client, which costs the least. */
export function ask(url: string, load: Load, more: object = {}): Promise<Answer> {
  const body = JSON.stringify({ message: questionFor(load), ...more });
  const headers = { accept: "text/event-stream", "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const times = new Times();
    const pieces: Buffer[] = [];
    const outgoing = request(url, { method: "POST", headers, agent }, (response) => {
      response.on("data", (piece: Buffer) => {
        // A delta split between two pieces is found with the next one; with 400 deltas this is negligible.
        times.received(piece.includes("text-delta"));
        pieces.push(piece);
      });
      response.once("error", reject);
      response.once("end", () => {
        const bytes = Buffer.concat(pieces);
        const body = bytes.toString();
        const isEnded = body.endsWith("data: [DONE]\n\n");
        const answer = { ...times.ended(), bytes: bytes.length };
        resolve({ ...answer, ...checked(isEnded ? chunksIn(body) : [], load) });
      });
    });
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}

export class Times {
  readonly #startMs = performance.now();
  #firstMs = Number.NaN;

  received(isText: boolean): void {
    if (isText && Number.isNaN(this.#firstMs)) this.#firstMs = performance.now() - this.#startMs;
  }

  ended(): Pick<Answer, "firstMs" | "wholeMs"> {
    const wholeMs = performance.now() - this.#startMs;
    return { firstMs: this.#firstMs, wholeMs };
  }
}

/** Checks the answer. */
export function checked(
  chunks: readonly UIMessageChunk[],
  load: Load,
): Pick<Answer, "text" | "isExact"> {
  const text = textIn(chunks);
  return { text, isExact: chunks.at(-1)?.type === "finish" && text === answerTo(load) };
}

/** Throws if the answer is not exact: a side that sends less would appear faster. */
export function requireExact(side: string, answer: Answer): Answer {
  if (answer.isExact) return answer;
  throw new Error(
    `${side} answered otherwise: ${answer.bytes} bytes, ${answer.text.slice(0, 500)}`,
  );
}
