import { expanding, type ExpandingOptions, TextParts } from "../agent/expand-answer.ts";
import { compact, isObject } from "../value/json.ts";
import type { Chunk, FullOutput, ModelOutput } from "./mastra-agent.ts";
import type { ClientCalls } from "./client-calls.ts";
import type { Run } from "./run.ts";

/** How the outputs of a run are shown to people. */
export interface Showing {
  readonly run: Run;
  readonly clientCalls: ClientCalls;
  readonly expanding: ExpandingOptions;
  /** True if the text is the JSON of an object, which is expanded when it is complete. */
  readonly isJson: boolean;
}

/**
 * Returns what `generate` returned, with `text` and `object` expanded, and with the inputs that a person or a
 * client gets. Everything else stays as Mastra recorded it, by reference.
 */
export async function expandedFullOutput(
  output: FullOutput,
  showing: Showing,
): Promise<FullOutput> {
  const expand = expanding(showing.run.store, showing.expanding);
  const { text, steps, object, toolCalls } = output;
  return {
    ...output,
    text: showing.isJson ? text : await expandedText(text, steps, expand),
    object: await expand(object),
    toolCalls: await Promise.all(
      toolCalls.map(async (call) => (await shownChunks(call, showing))[0] ?? call),
    ),
    suspendPayload: shownPayload(output.suspendPayload, showing),
  };
}

/** Returns what `stream` returned, with the same changes as the chunks arrive. */
export function expandedModelOutput(output: ModelOutput, showing: Showing): ModelOutput {
  const expand = expanding(showing.run.store, showing.expanding);
  const shown: { [Key in keyof ModelOutput]?: () => unknown } = {
    fullStream: () => output.fullStream.pipeThrough(expandChunks(showing)),
    textStream: () =>
      showing.isJson
        ? output.textStream
        : output.fullStream.pipeThrough(expandChunks(showing)).pipeThrough(textsOf()),
    text: async () => {
      const text = await output.text;
      return showing.isJson ? text : expandedText(text, await output.steps, expand);
    },
    object: async () => expand(await output.object),
    toolCalls: async () => {
      const calls = await output.toolCalls;
      return (await Promise.all(calls.map((call) => shownChunks(call, showing)))).map(
        ([call]) => call,
      );
    },
    suspendPayload: async () => shownPayload(await output.suspendPayload, showing),
    getFullOutput: () => async () => expandedFullOutput(await output.getFullOutput(), showing),
  };
  // The object has private fields, so its own methods have to be called on itself.
  return new Proxy(output, {
    get(target, key) {
      const own = Object.hasOwn(shown, key) ? shown[key as keyof ModelOutput] : undefined;
      if (own !== undefined) return own();
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

type Expand = ReturnType<typeof expanding>;

/** Each step's text is one text of the stream. */
async function expandedText(
  text: string,
  steps: FullOutput["steps"],
  expand: Expand,
): Promise<string> {
  const texts = steps.map((step) => step.text ?? "");
  const whole = texts.join("") === text ? texts : [text];
  return (await Promise.all(whole.map(expand))).join("");
}

/** A chunk in the form that `TextParts` expands. A piece of an expanded text has no chunk of its own. */
interface Part {
  readonly type: string;
  readonly id?: string;
  readonly text?: string;
  readonly providerMetadata?: unknown;
  readonly chunk?: Chunk;
}

function expandChunks(showing: Showing): TransformStream<Chunk, Chunk> {
  const { store } = showing.run;
  /** The chunk before, for the fields that all chunks of a run share. */
  let latest: Chunk | undefined;
  let parts: TextParts<Part> | undefined;
  return new TransformStream<Chunk, Chunk>({
    start(controller) {
      parts = new TextParts<Part>(store, showing.expanding, {
        emit: (part) => controller.enqueue(chunkOf(part, latest)),
        deltaOf: ({ type, text }) => (type === "text-delta" ? text : undefined),
        delta: (id, text) => ({ type: "text-delta", id, text }),
      });
    },
    async transform(chunk) {
      latest = chunk;
      for (const shown of await shownChunks(chunk, showing)) {
        await parts?.write(partOf(shown));
      }
    },
    flush: () => parts?.flush(),
  });
}

function partOf(chunk: Chunk): Part {
  return { ...chunk.payload, type: chunk.type, chunk };
}

function chunkOf({ chunk, ...part }: Part, latest?: Chunk): Chunk {
  const { type, id, text, providerMetadata } = part;
  if (!type.startsWith("text-") && chunk !== undefined) return chunk;
  const payload = { ...chunk?.payload, ...compact({ id, text, providerMetadata }) };
  return { ...compact({ runId: latest?.runId, from: latest?.from }), ...chunk, type, payload };
}

function textsOf(): TransformStream<Chunk, string> {
  return new TransformStream({
    transform({ type, payload }, controller) {
      if (type === "text-delta" && payload?.text !== "") controller.enqueue(String(payload?.text));
    },
  });
}

/** Returns the chunk as people and clients get it: with the input that would run, and values in an object. */
async function shownChunks(chunk: Chunk, showing: Showing): Promise<readonly Chunk[]> {
  const { run, clientCalls } = showing;
  const { type, payload = {} } = chunk;
  if (type === "tool-call") return clientCalls.resolved(chunk, run);
  if (type === "tool-call-approval" || type === "tool-call-suspended") {
    return [{ ...chunk, payload: shownArgs(payload, run) }];
  }
  if (type === "object-result") {
    const object = await expanding(run.store, showing.expanding)(chunk.object);
    return [{ ...chunk, object }];
  }
  return [chunk];
}

function shownPayload(payload: unknown, { run }: Showing): unknown {
  return isObject(payload) ? shownArgs(payload, run) : payload;
}

function shownArgs(payload: Readonly<Record<string, unknown>>, run: Run) {
  const shown = run.shownOf(String(payload.toolCallId));
  return shown === undefined || !("args" in payload) ? payload : { ...payload, args: shown };
}
