import { setTimeout as sleep } from "node:timers/promises";
import {
  type ChatBody,
  type ChatCompletions,
  type ChatStep,
  outputIn,
  startChatCompletions,
} from "../../support/chat-completions.ts";
import { type Loopback, startLoopback, textOf } from "../../support/loopback.ts";
import { callId, markerIn, SHAPES, type Shape } from "./script.ts";

/** A model call with the calls whose results it received, or a tool's start or effect. */
export interface Entry {
  readonly marker: string;
  readonly atMs: number;
  readonly kind: "model" | "start" | "effect";
  /** Ids of calls. */
  readonly ids: readonly string[];
  readonly key?: string;
}

/** A mebibyte: a row cannot hold two. */
const LARGE = "0123456789abcdef".repeat(65_536);
const TEXT_MS = 60;

/**
 * Everything outside the server: the model and the effects of the tools, in the test's process, where a kill loses
 * nothing. The same turn, step and call always get the same answer.
 */
export class World {
  readonly ledger: Entry[] = [];
  /** Called with each entry, before the world goes on. May kill the server. */
  onEntry: (entry: Entry) => void = () => undefined;
  readonly #shapes = new Map<string, Shape>();
  readonly #servers: Pick<Loopback, "down">[] = [];

  async start(): Promise<{ readonly modelUrl: string; readonly toolsUrl: string }> {
    const model: ChatCompletions = await startChatCompletions();
    model.play((body) => this.#speak(body));
    const tools = await startLoopback(async (request, response) => {
      // Killing the server must not end the test.
      response.on("error", () => undefined);
      const { turn, call } = JSON.parse(await textOf(request));
      const name = String(request.url).slice("/tools/".length);
      const key = String(request.headers["idempotency-key"] ?? "");
      this.#add({ marker: turn, kind: "start", ids: [call], key });
      await sleep(call.length % 2 === 0 ? 5 : 60);
      this.#add({ marker: turn, kind: "effect", ids: [call], key });
      const large = { title: "Everything", body: LARGE };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(name === "report" ? large : { said: `${name} did` }));
    });
    this.#servers.push(model, tools);
    return { modelUrl: model.url, toolsUrl: tools.url };
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.down()));
  }

  play(marker: string, index: number): Shape {
    const shape = SHAPES[index % SHAPES.length] ?? { steps: [], text: "", shown: "" };
    this.#shapes.set(marker, shape);
    return shape;
  }

  entriesOf(marker: string): readonly Entry[] {
    return this.ledger.filter((entry) => entry.marker === marker);
  }

  #add(fact: Omit<Entry, "atMs">): void {
    const entry = { ...fact, atMs: performance.now() };
    this.ledger.push(entry);
    this.onEntry(entry);
  }

  #speak({ messages }: ChatBody): ChatStep {
    const asked = messages.findLastIndex(
      ({ role, content }) => role === "user" && markerIn(content ?? "") !== undefined,
    );
    const marker = markerIn(messages[asked]?.content ?? "") ?? "";
    const { steps, text } = this.#shapes.get(marker) ?? { steps: [], text: "Who are you?" };
    const own = messages.slice(asked + 1);
    // A prompt may have other ids of calls than the model gave, but never another input.
    const sent = own.flatMap(({ tool_calls: calls = [] }) => calls);
    const inputs = new Map(sent.map(({ id, function: { arguments: input } }) => [id, input]));
    const results = own.filter(({ role }) => role === "tool");
    const ids = results.map(({ tool_call_id: id = "" }) => JSON.parse(inputs.get(id) ?? "{}").call);
    this.#add({ marker, kind: "model", ids });
    const step = own.filter(({ tool_calls: calls = [] }) => calls.length > 0).length;
    const names = steps[step];
    if (names === undefined) {
      const said = text.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
        const at = sent.findIndex((call) => call.function.name === name);
        return `$${/"\$var":"(\w+)"/.exec(outputIn(results[at]))?.[1] ?? "unknown"}`;
      });
      return { kind: "text", text: said, hold: sleep(TEXT_MS) };
    }
    const calls = names.map((name, index) => ({
      name,
      input: { turn: marker, call: callId(marker, step, index) },
    }));
    return { kind: "calls", calls };
  }
}
