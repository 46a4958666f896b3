import type { ServerResponse } from "node:http";
import type { LanguageModel } from "ai";
import { startLoopback, textOf } from "./loopback.ts";
import { type Asked, askSdk, askUs, type Seen } from "./model-conformance.ts";

/** Server-sent events that answer one request; with `cut`, the connection breaks after them. */
type Answer = readonly unknown[] | { readonly cut: readonly unknown[] };

/** A named exchange with one answer per request. */
export type Exchange = readonly [name: string, answers: readonly Answer[]];

export interface Wire {
  /** Returns a new URL that answers requests with these, in order. */
  play(answers: readonly Answer[]): Played;
  stop(): Promise<void>;
}

export interface Played {
  readonly url: string;
  /** Request bodies so far, as text. */
  readonly requests: readonly string[];
}

interface Playing extends Played {
  readonly requests: string[];
  readonly bodies: readonly { readonly text: string; readonly isCut: boolean }[];
}

/** Network packets do not end where the model's deltas end. */
const PIECE_BYTES = 97;

/** Starts an endpoint on the loopback address that answers with raw bytes. */
export async function startWire(): Promise<Wire> {
  const playing = new Map<string, Playing>();
  const { url, down } = await startLoopback(async (request, response) => {
    const text = await textOf(request);
    const played = playing.get((request.url ?? "").split("/")[1] ?? "");
    const body = played?.bodies[played.requests.push(text) - 1];
    if (body === undefined) response.writeHead(404).end("There is no more.");
    else await send(response, body);
  });
  return {
    play(answers) {
      const bodies = answers.map((answer) => {
        const isCut = "cut" in answer;
        return { text: (isCut ? answer.cut : answer).map(typedEvent).join(""), isCut };
      });
      const name = `play-${playing.size}`;
      const played: Playing = { url: `${url}/${name}/v1`, requests: [], bodies };
      playing.set(name, played);
      return played;
    },
    stop: down,
  };
}

async function send(
  response: ServerResponse,
  { text, isCut }: { readonly text: string; readonly isCut: boolean },
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    await new Promise<void>((done) => {
      response.write(bytes.subarray(at, at + PIECE_BYTES), () => done());
    });
  }
  if (isCut) response.destroy();
  else response.end();
}

/** Encodes a server-sent event whose data includes its type, as in Anthropic's API. */
function typedEvent(event: unknown): string {
  const { type } = event as { readonly type: string };
  return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Runs both loops over the same bytes, each with its own provider and endpoint. */
export async function askBothOver(
  modelFor: (side: "sdk" | "ours") => LanguageModel,
  asked: Omit<Asked, "model"> = {},
): Promise<{ readonly sdk: Seen; readonly ours: Seen }> {
  const [sdk, ours] = await Promise.all([
    askSdk({ ...asked, model: modelFor("sdk") }),
    askUs({ ...asked, model: modelFor("ours") }),
  ]);
  return { sdk: withPlainIds(sdk), ours: withPlainIds(ours) };
}

/** Replaces the random ids of providers with numbers, in order of first appearance. */
function withPlainIds(seen: Seen): Seen {
  const numbers = new Map<unknown, number>();
  const numbered = (key: string, value: unknown): unknown => {
    if (!ID_KEYS.has(key) || typeof value !== "string") return value;
    if (!numbers.has(value)) numbers.set(value, numbers.size);
    return numbers.get(value);
  };
  const parts = JSON.parse(JSON.stringify(seen.parts), numbered) as readonly unknown[];
  return { parts, errors: seen.errors, complaints: seen.complaints };
}

const ID_KEYS = new Set(["id", "sourceId", "toolCallId"]);
