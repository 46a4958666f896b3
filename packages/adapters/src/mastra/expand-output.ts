import type { JSONSchema7 } from "ai";
import { type ExpandingOptions, expandText, TextParts } from "../agent/expand-answer.ts";
import { expandMessages } from "../agent/expand-messages.ts";
import { ObjectExpander } from "../agent/expand-object.ts";
import { json } from "../../../../src/internal.ts";
import type { ClientCalls } from "./client-calls.ts";
import type { Chunk, FullOutput, ModelOutput, Scored } from "./mastra-agent.ts";
import { overlay } from "./overlay.ts";
import type { Run } from "./run.ts";

/** How the outputs of a run are shown to users. */
export interface Showing {
  readonly run: Run;
  readonly clientCalls: ClientCalls;
  readonly expanding: ExpandingOptions;
  /** Returns what scorers read of an answer. */
  readonly scored: <Data extends Scored>(data: Data) => Promise<Data>;
  /** The schema of structured answers, if there are any. */
  readonly schema: JSONSchema7 | undefined;
  /** True if the text is the JSON of an object. It stays as written: values could break it. */
  readonly isJson: boolean;
}

/**
 * Returns what `generate` returned, with `text` expanded, and with the inputs that a person or a client gets.
 * Everything else stays as Mastra recorded it, by reference. An object has its values when it is validated.
 */
export async function expandedFullOutput(
  output: FullOutput,
  showing: Showing,
): Promise<FullOutput> {
  return {
    ...output,
    text: await shownText(output, showing),
    toolCalls: await shownCalls(output.toolCalls, showing),
    suspendPayload: shownPayload(output.suspendPayload, showing),
    response: await shownResponse(output.response, showing),
    ...(output.scoringData && { scoringData: await showing.scored(output.scoringData) }),
  };
}

/** Returns what `stream` returned, with the same changes. Its stream is expanded by `expandChunks`. */
export function expandedModelOutput(output: ModelOutput, showing: Showing): ModelOutput {
  const chunks = () => output.fullStream;
  return overlay(output, {
    textStream: () => (showing.isJson ? output.textStream : chunks().pipeThrough(textsOf())),
    objectStream: () => chunks().pipeThrough(objectsOf()),
    elementStream: () => chunks().pipeThrough(elementsOf()),
    text: () => shownText(output, showing),
    toolCalls: async () => shownCalls(await output.toolCalls, showing),
    suspendPayload: async () => shownPayload(await output.suspendPayload, showing),
    response: async () => shownResponse(await output.response, showing),
    getFullOutput: () => async () => expandedFullOutput(await output.getFullOutput(), showing),
  });
}

/** Each step's text is one text of the stream. */
export async function shownText(
  output: Pick<FullOutput | ModelOutput, "text"> & Partial<Pick<FullOutput | ModelOutput, "steps">>,
  { run, isJson, expanding }: Showing,
): Promise<string> {
  const text = await output.text;
  if (isJson || run.knownStore === undefined) return text;
  const texts = ((await output.steps) ?? []).map((step) => step.text ?? "");
  const whole = texts.join("") === text ? texts : [text];
  return (await Promise.all(whole.map((one) => expandText(one, run.store, expanding)))).join("");
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

/** Expands the chunks of a run, one after the other. */
export class ChunkExpander {
  readonly #showing: Showing;
  readonly #parts: TextParts<Part>;
  /** The chunk before, for the fields that all chunks of a run share. */
  #latest: Chunk | undefined;
  #shown: Chunk[] = [];

  constructor(showing: Showing) {
    this.#showing = showing;
    this.#parts = new TextParts<Part>(showing.run.store, showing.expanding, {
      emit: (part) => this.#shown.push(chunkOf(part, this.#latest)),
      deltaOf: ({ type, text }) => (type === "text-delta" && !showing.isJson ? text : undefined),
      delta: (id, text) => ({ type: "text-delta", id, text }),
    });
  }

  /** Returns the chunks that are complete. Wait for them before the next call. */
  async write(chunk: Chunk): Promise<readonly Chunk[]> {
    this.#latest = chunk;
    for (const shown of await shownChunks(chunk, this.#showing)) {
      await this.#parts.write({ ...shown.payload, type: shown.type, chunk: shown });
    }
    return this.#taken();
  }

  /** Returns the rest of the texts that are open. */
  async end(): Promise<readonly Chunk[]> {
    await this.#parts.flush();
    return this.#taken();
  }

  #taken(): readonly Chunk[] {
    const shown = this.#shown;
    this.#shown = [];
    return shown;
  }
}

/** Returns a transform for the chunks of a run. It begins when the run has its store. */
export function expandChunks(showing: Showing): TransformStream<Chunk, Chunk> {
  let expander: ChunkExpander | undefined;
  return new TransformStream<Chunk, Chunk>({
    async transform(chunk, controller) {
      if (showing.run.knownStore === undefined) return controller.enqueue(chunk);
      expander ??= new ChunkExpander(showing);
      for (const shown of await expander.write(chunk)) controller.enqueue(shown);
    },
    async flush(controller) {
      for (const shown of (await expander?.end()) ?? []) controller.enqueue(shown);
    },
  });
}

function chunkOf({ chunk, ...part }: Part, latest?: Chunk): Chunk {
  const { type, id, text, providerMetadata } = part;
  if (!type.startsWith("text-") && chunk !== undefined) return chunk;
  const payload = { ...chunk?.payload, ...json.compact({ id, text, providerMetadata }) };
  const { runId, from } = latest ?? {};
  return { ...json.compact({ runId, from }), ...chunk, type, payload };
}

function textsOf(): TransformStream<Chunk, string> {
  return new TransformStream({
    transform({ type, payload }, controller) {
      if (type === "text-delta" && payload?.text) controller.enqueue(String(payload.text));
    },
  });
}

function objectsOf(): TransformStream<Chunk, unknown> {
  return new TransformStream({
    transform({ type, object }, controller) {
      if (type === "object") controller.enqueue(object);
    },
  });
}

/** The last element of a list may go on until there is another, or the whole object. */
function elementsOf(): TransformStream<Chunk, unknown> {
  let count = 0;
  return new TransformStream({
    transform({ type, object }, controller) {
      if (!Array.isArray(object)) return;
      const known = type === "object-result" ? object.length : object.length - 1;
      for (; count < known; count++) controller.enqueue(object[count]);
    },
  });
}

/** Returns the chunk as people and clients get it: with the input that would run, and values in an object. */
async function shownChunks(chunk: Chunk, showing: Showing): Promise<readonly Chunk[]> {
  const { run, clientCalls, expanding, schema } = showing;
  const { type, object } = chunk;
  if (type === "tool-call") return clientCalls.resolved(chunk, run);
  if (type === "tool-call-approval" || type === "tool-call-suspended") {
    return [{ ...chunk, payload: shownPayload(chunk.payload ?? {}, showing) }];
  }
  // The last text of a part is left out until the whole is known, which is a part, too, for who reads only parts.
  if (type === "object-result") return [{ ...chunk, type: "object" }, chunk];
  if (type === "finish") {
    const response = await shownResponse(chunk.payload?.response, showing);
    return [{ ...chunk, payload: { ...chunk.payload, ...json.compact({ response }) } }];
  }
  if (type !== "object") return [chunk];
  const part = await new ObjectExpander(run.store, expanding, schema).expandPart(object);
  return part === undefined ? [] : [{ ...chunk, object: part }];
}

/** Returns a response whose messages for clients have values. Those for histories stay as they are. */
async function shownResponse<Response>(response: Response, showing: Showing): Promise<Response> {
  const { run, expanding, isJson } = showing;
  if (isJson || !json.isObject(response) || !Array.isArray(response.uiMessages)) return response;
  const uiMessages = await expandMessages(response.uiMessages, run.store, expanding);
  return { ...response, uiMessages };
}

/** Returns what is known of a waiting call, with the input that would run. */
function shownPayload<Payload>(payload: Payload, { run }: Showing): Payload {
  if (!json.isObject(payload) || !("args" in payload)) return payload;
  const args = run.shownOf(String(payload.toolCallId));
  return args === undefined ? payload : { ...payload, args };
}
