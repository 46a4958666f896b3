import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type Loopback, startLoopback, textOf } from "../../support/loopback.ts";
import { Ledger } from "./ledger.ts";
import { streamStep } from "./model-stream.ts";
import { markerIn, placeOf, type Script } from "./script.ts";

/** Something that happens in a turn right now; `step` counts the steps of the model from 0. */
export interface Moment {
  readonly kind:
    | "asked"
    | "delta"
    | "answered"
    | "requested"
    | "effected"
    | "replied"
    /** A client's write beside the turn was acknowledged. */
    | "written";
  readonly marker: string;
  readonly step: number;
  /** Index of the call in its step, or of the delta. */
  readonly index: number;
}

/** A mebibyte: a row cannot hold two. */
const LARGE = "0123456789abcdef".repeat(65_536);

/**
 * Everything outside the server: the model and the effects of the tools, on one loopback port. Apart from
 * scripted faults, the same turn, step and call always get the same answer.
 */
export class World {
  readonly ledger = new Ledger();
  /** Called at each moment, before the world goes on; may kill the server. */
  onMoment: (moment: Moment) => void = () => undefined;
  readonly #scripts = new Map<string, Script>();
  readonly #tries = new Map<string, number>();
  #server: Loopback | undefined;

  async start(): Promise<string> {
    this.#server = await startLoopback((request, response) => this.#answer(request, response));
    return this.#server.url;
  }

  stop(): void {
    void this.#server?.down();
  }

  play(script: Script): void {
    this.#scripts.set(script.marker, script);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Killing the server must not end the test.
    response.on("error", () => undefined);
    const text = await textOf(request);
    const url = request.url ?? "";
    if (url.startsWith("/tools/")) return this.#work(request, response, text);
    return this.#speak(response, text);
  }

  async #work(request: IncomingMessage, response: ServerResponse, text: string): Promise<void> {
    const name = (request.url ?? "").slice("/tools/".length);
    const { call: id } = JSON.parse(text) as { call: string };
    const place = placeOf(id);
    const script = this.#scripts.get(place?.marker ?? "");
    if (place === undefined || script === undefined) throw new Error(`No turn has ${text}.`);
    const { marker } = place;
    const key = String(request.headers["idempotency-key"] ?? "");
    this.ledger.add(marker, { kind: "start", id, key });
    this.onMoment({ kind: "requested", ...place });
    await sleep(script.toolMs);
    this.ledger.add(marker, { kind: "effect", id, key });
    this.onMoment({ kind: "effected", ...place });
    const body = name === "report" ? { title: "Everything", body: LARGE } : { said: `${name} did` };
    await new Promise<void>((done) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(body), done);
    });
    this.ledger.add(marker, { kind: "reply", id, key });
    this.onMoment({ kind: "replied", ...place });
  }

  async #speak(response: ServerResponse, text: string): Promise<void> {
    const { messages } = JSON.parse(text) as { messages: readonly ChatMessage[] };
    const asked = messages.findLastIndex(
      ({ role, content }) => role === "user" && isAsked(content),
    );
    const marker = markerIn(JSON.stringify(messages[asked]?.content)) ?? "";
    const script = this.#scripts.get(marker);
    if (script === undefined) throw new Error("No turn has this prompt.");
    const own = messages.slice(asked + 1);
    const step = own.filter(({ role }) => role === "assistant").length;
    const results = new Map(
      own
        .filter(({ role }) => role === "tool")
        .map((message) => [callOf(message, own), JSON.stringify(message.content)]),
    );
    this.ledger.add(marker, { kind: "model", step, results: new Set(results.keys()) });
    this.onMoment({ kind: "asked", marker, step, index: 0 });
    const fault = this.#faultAt(script, step);
    await streamStep(response, {
      script,
      step,
      fault,
      nameOf: (tool) => variableOf(script, tool, results),
      onDelta: (index) => this.onMoment({ kind: "delta", marker, step, index }),
    });
    this.ledger.add(marker, { kind: "answered", step, ...(fault === undefined ? {} : { fault }) });
    this.onMoment({ kind: "answered", marker, step, index: 0 });
  }

  #faultAt({ marker, faults }: Script, step: number) {
    const key = `${marker} ${step}`;
    const tried = this.#tries.get(key) ?? 0;
    this.#tries.set(key, tried + 1);
    return faults.get(step)?.[tried];
  }
}

interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly arguments: string };
  }[];
}

/** The id that the model gave to the call of a result. A prompt may have another, which its input does not. */
function callOf({ tool_call_id: sent }: ChatMessage, messages: readonly ChatMessage[]): string {
  const calls = messages.flatMap(({ tool_calls: calls = [] }) => calls);
  const input = calls.find(({ id }) => id === sent)?.function.arguments ?? "{}";
  return (JSON.parse(input) as { readonly call?: string }).call ?? "";
}

function isAsked(content: unknown): boolean {
  return markerIn(JSON.stringify(content) ?? "") !== undefined;
}

/** Returns the variable name that the model received for the result of the tool. */
function variableOf(
  { steps }: Script,
  tool: string,
  results: ReadonlyMap<string, string>,
): string | undefined {
  for (const [id, content] of results) {
    const place = placeOf(id);
    const name = place && steps[place.step]?.calls[place.index];
    if (name === tool) return /\\"\$var\\":\\"(\w+)\\"/.exec(content)?.[1];
  }
  return undefined;
}
