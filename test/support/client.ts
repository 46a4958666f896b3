import {
  type Client,
  ClientError,
  type ClientOptions,
  createClient,
} from "../../packages/client/src/client.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { ORIGIN } from "./edge.ts";
import type { OwnRuntime } from "./own-runtime.ts";
import { finish, scriptedModel, type Step, text } from "byref/testing";

export type Send = NonNullable<ClientOptions["fetch"]>;

export const agent: Agent = {
  name: "test",
  description: "For tests.",
  instructions: "Help.",
  tools: {},
};
export const hello: Step = [text("Hello from here.", { chunks: 2 }), finish()];

export function speaking(steps: readonly Step[]) {
  const model = scriptedModel(steps);
  return { model, options: { agents: [agent] as const, model } };
}

export const sendTo =
  (own: OwnRuntime): Send =>
  (url, init) =>
    own.call(init.method ?? "GET", url, init);

export function clientOf(own: OwnRuntime, options: ClientOptions = {}): Client {
  return createClient(ORIGIN, { fetch: sendTo(own), retryMs: () => 1, ...options });
}

/** Reads a stream to its end and returns its items. */
export async function all<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const read: Item[] = [];
  for await (const item of items) read.push(item);
  return read;
}

export async function failureOf(work: Promise<unknown>): Promise<ClientError> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  if (error instanceof ClientError) return error;
  throw new Error(`It did not fail as it should: ${String(error)}`);
}

/** How a connection breaks: after a number of frames and a part of the next. */
export type Cut = { readonly frames: number; readonly how: "fails" | "ends" | "is silent" };

/** Breaks the first connections as `cuts` describes; later ones work. */
export function breaking(own: OwnRuntime, cuts: readonly Cut[], onSilence = () => {}) {
  const asked: string[] = [];
  const send: Send = async (url, init) => {
    const cut = cuts[asked.length];
    const after = new Headers(init.headers).get("last-event-id");
    asked.push([init.method, new URL(url).pathname, ...(after === null ? [] : ["on"])].join(" "));
    const response = await sendTo(own)(url, init);
    return cut === undefined ? response : cutOff(await response.text(), cut, onSilence);
  };
  return { asked, send };
}

export function cutOff(whole: string, { frames, how }: Cut, onSilence = () => {}): Response {
  const kept = whole.split("\n\n").slice(0, frames);
  const pieces = [`${[...kept, ": waiting"].join("\n\n")}\n\n`, 'id: 99\ndata: {"type":'];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift();
      if (piece !== undefined) return controller.enqueue(new TextEncoder().encode(piece));
      if (how === "fails") return controller.error(new TypeError("cut"));
      if (how === "ends") return controller.close();
      onSilence();
      return new Promise(() => undefined);
    },
  });
  return new Response(body);
}
