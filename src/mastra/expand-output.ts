import { expanding, type ExpandingOptions, TextParts } from "../agent/expand-answer.ts";
import { compact, isObject } from "../value/json.ts";
import type { Chunk, FullOutput, ModelOutput } from "./mastra-agent.ts";
import type { ClientCalls } from "./client-calls.ts";
import type { Run } from "./run.ts";

/** How the outputs of a run are shown to users. */
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
  return {
    ...output,
    text: await shownText(output, showing),
    object: await expandIn(showing)(output.object),
    toolCalls: await shownCalls(output.toolCalls, showing),
    suspendPayload: shownPayload(output.suspendPayload, showing),
  };
}

/** Returns what `stream` returned, with the same changes as the chunks arrive. */
export function expandedModelOutput(output: ModelOutput, showing: Showing): ModelOutput {
  const shown: { [Key in keyof ModelOutput]?: () => unknown } = {
    fullStream: () => output.fullStream.pipeThrough(expandChunks(showing)),
    textStream: () =>
      showing.isJson
        ? output.textStream
        : output.fullStream.pipeThrough(expandChunks(showing)).pipeThrough(textsOf()),
    text: () => shownText(output, showing),
    object: async () => expandIn(showing)(await output.object),
    toolCalls: async () => shownCalls(await output.toolCalls, showing),
    suspendPayload: async () => shownPayload(await output.suspendPayload, showing),
    getFullOutput: () => async () => expandedFullOutput(await output.getFullOutput(), showing),
  };
  // The object has private fields, so its own methods have to be called on itself.
  return new Proxy(output, {
    get(target, key) {
      if (Object.hasOwn(shown, key)) return shown[key as keyof ModelOutput]?.();
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function expandIn(showing: Showing): ReturnType<typeof expanding> {
  return expanding(showing.run.store, showing.expanding);
}

/** Each step's text is one text of the stream. */
async function shownText(
  output: Pick<FullOutput | ModelOutput, "text" | "steps">,
  showing: Showing,
): Promise<string> {
  const text = await output.text;
  if (showing.isJson) return text;
  const texts = (await output.steps).map((step) => step.text ?? "");
  const whole = texts.join("") === text ? texts : [text];
  return (await Promise.all(whole.map(expandIn(showing)))).join("");
}

async function shownCalls(calls: readonly Chunk[], showing: Showing): Promise<readonly Chunk[]> {
  return Promise.all(calls.map(async (call) => (await shownChunks(call, showing))[0] ?? call));
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
  const { runId, from } = latest ?? {};
  return { ...compact({ runId, from }), ...chunk, type, payload };
}

function textsOf(): TransformStream<Chunk, string> {
  return new TransformStream({
    transform({ type, payload }, controller) {
      if (type === "text-delta" && payload?.text) controller.enqueue(String(payload.text));
    },
  });
}

/** Returns the chunk as people and clients get it: with the input that would run, and values in an object. */
async function shownChunks(chunk: Chunk, showing: Showing): Promise<readonly Chunk[]> {
  const { run, clientCalls } = showing;
  const { type } = chunk;
  if (type === "tool-call") return clientCalls.resolved(chunk, run);
  if (type === "tool-call-approval" || type === "tool-call-suspended") {
    return [{ ...chunk, payload: shownPayload(chunk.payload ?? {}, showing) }];
  }
  if (type === "object-result") {
    return [{ ...chunk, object: await expandIn(showing)(chunk.object) }];
  }
  return [chunk];
}

/** Returns what is known of a waiting call, with the input that would run. */
function shownPayload<Payload>(payload: Payload, { run }: Showing): Payload {
  if (!isObject(payload) || !("args" in payload)) return payload;
  const args = run.shownOf(String(payload.toolCallId));
  return args === undefined ? payload : { ...payload, args };
}
