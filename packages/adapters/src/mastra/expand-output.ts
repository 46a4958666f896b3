import type { JSONSchema7 } from "ai";
import {
  type ExpandingOptions,
  expandMessages,
  expandObject,
  expandText,
  textParts,
} from "../agent/expand-answer.ts";
import { Recent, type VariableStore, json } from "../../../../src/internal.ts";
import type { ClientCalls, Run } from "./run.ts";
import type {
  AnswerEvent,
  CallOptions,
  Chunk,
  FullOutput,
  ModelOutput,
  Scored,
  Scorer,
} from "./mastra-agent.ts";

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
  const { text, toolCalls, suspendPayload, response } = shownFields(output, showing);
  return {
    ...output,
    text: await text(),
    toolCalls: await toolCalls(),
    suspendPayload: await suspendPayload(),
    response: await response(),
    ...(output.scoringData && { scoringData: await showing.scored(output.scoringData) }),
  };
}

/** Returns what `stream` returned, with the same changes. Its stream is expanded by `expandChunks`. */
export function expandedModelOutput(output: ModelOutput, showing: Showing): ModelOutput {
  const chunks = () => output.fullStream;
  return overlay(output, {
    ...shownFields(output, showing),
    textStream: () => (showing.isJson ? output.textStream : chunks().pipeThrough(picking(textIn))),
    objectStream: () => chunks().pipeThrough(picking(objectIn)),
    elementStream: () => chunks().pipeThrough(elementsOf()),
    getFullOutput: () => async () => expandedFullOutput(await output.getFullOutput(), showing),
  });
}

function shownFields(output: FullOutput | ModelOutput, showing: Showing) {
  return {
    text: () => shownText(output, showing),
    toolCalls: async () => shownCalls(await output.toolCalls, showing),
    suspendPayload: async () => shownPayload(await output.suspendPayload, showing),
    response: async () => shownResponse(await output.response, showing),
  };
}

/** Each step's text is one text of the stream. */
async function shownText(
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

/** Expands chunks. Wait for what one call returns before the next. */
function chunkExpander(showing: Showing) {
  /** The chunk before, for the fields that all chunks of a run share. */
  let latest: Chunk | undefined;
  let shown: Chunk[] = [];
  const parts = textParts<Part>(showing.run.store, showing.expanding, {
    emit: (part) => shown.push(chunkOf(part, latest)),
    deltaOf: ({ type, text }) => (type === "text-delta" && !showing.isJson ? text : undefined),
    delta: (id, text) => ({ type: "text-delta", id, text }),
  });
  const taken = (): readonly Chunk[] => {
    const all = shown;
    shown = [];
    return all;
  };
  return {
    /** Returns the chunks that are complete. */
    async write(chunk: Chunk): Promise<readonly Chunk[]> {
      latest = chunk;
      for (const one of await shownChunks(chunk, showing)) {
        await parts.write({ ...one.payload, type: one.type, chunk: one });
      }
      return taken();
    },
    /** Returns the rest of the texts that are open. */
    async end(): Promise<readonly Chunk[]> {
      await parts.flush();
      return taken();
    },
  };
}

/** Returns a transform for the chunks of a run. It begins when the run has its store. */
export function expandChunks(showing: Showing): TransformStream<Chunk, Chunk> {
  let expander: ReturnType<typeof chunkExpander> | undefined;
  return new TransformStream<Chunk, Chunk>({
    async transform(chunk, controller) {
      if (showing.run.knownStore === undefined) return controller.enqueue(chunk);
      expander ??= chunkExpander(showing);
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

/** Returns a transform from chunks to what `pick` finds in each. */
function picking<Item>(pick: (chunk: Chunk) => readonly Item[]): TransformStream<Chunk, Item> {
  return new TransformStream({
    transform(chunk, controller) {
      for (const item of pick(chunk)) controller.enqueue(item);
    },
  });
}

const textIn = ({ type, payload }: Chunk) =>
  type === "text-delta" && payload?.text ? [String(payload.text)] : [];
const objectIn = ({ type, object }: Chunk) => (type === "object" ? [object] : []);

/** The last element of a list may go on until there is another, or the whole object. */
function elementsOf(): TransformStream<Chunk, unknown> {
  let count = 0;
  return picking(({ type, object }) => {
    if (!Array.isArray(object)) return [];
    const known = object.slice(count, type === "object-result" ? undefined : -1);
    count += known.length;
    return known;
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
  const part = await expandObject(object, run.store, expanding, { schema, isPart: true });
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

const TEXTS = ["onStepFinish", "onIterationComplete", "onFinish"] as const;
/** The callbacks that are called when a run has ended. */
const ENDINGS: ReadonlySet<string> = new Set(["onFinish", "onError", "onAbort"]);

type Callbacks = Pick<CallOptions, "onChunk" | "onError" | "onAbort" | (typeof TEXTS)[number]>;

/**
 * Returns the callbacks of a call, which receive texts and chunks as people get them. The messages and steps of
 * their events are for histories, and stay as Mastra recorded them.
 */
export function shownEvents(given: Callbacks, showing: Showing, end: () => void): Callbacks {
  const pieces = piecesFor(given.onChunk, showing);
  const names = ([...TEXTS, "onError", "onAbort"] as const).filter(
    (name) => name !== "onIterationComplete" || given[name] !== undefined,
  );
  const callbacks = names.map((name) => [
    name,
    async (event: AnswerEvent) => {
      await pieces.end();
      const { text } = event;
      const shown =
        text === undefined
          ? event
          : { ...event, text: await shownText({ ...event, text }, showing) };
      if (ENDINGS.has(name) && event.finishReason !== "suspended") end();
      return given[name]?.(shown);
    },
  ]);
  const onChunk = (chunk: Chunk) => pieces.write(chunk);
  return { ...Object.fromEntries(callbacks), ...(given.onChunk && { onChunk }) };
}

/** The chunks for `onChunk`, which Mastra calls without the starts and ends of texts. */
function piecesFor(onChunk: CallOptions["onChunk"], showing: Showing) {
  let expander: ReturnType<typeof chunkExpander> | undefined;
  const pass = async (chunks: readonly Chunk[] = []) => {
    for (const chunk of chunks) await onChunk?.(chunk);
  };
  return {
    async write(chunk: Chunk): Promise<void> {
      expander ??= chunkExpander(showing);
      await pass(await expander.write(chunk));
    },
    /** Passes on what is held of a step's texts. Texts of the next step may have the same ids. */
    end: async () => pass(await expander?.end()),
  };
}

/** Runs that have ended, whose stores are kept for their scorers. */
const MAX_RUNS = 100;

/** The parts of a scorer's input that have texts of the assistant. */
const READ = ["messages", "rememberedMessages", "primitiveResult"];

export type Scoring = ReturnType<typeof scoringWith>;

/**
 * What scorers read of answers: the values that a person was shown. References to sealed variables stay as written,
 * because the judge may be a model.
 */
export function scoringWith(given: ExpandingOptions) {
  const options: ExpandingOptions = { ...given, sealed: "keep" };
  const stores = new Recent<VariableStore>(MAX_RUNS);
  let hasScorers = false;
  return { ended, ofAgent, reading, shown };

  /** Mastra runs an agent's scorers when the run has ended. */
  function ended({ id, knownStore }: Run): void {
    if (hasScorers && knownStore !== undefined) stores.set(id, knownStore);
  }

  function ofAgent(scorers: Readonly<Record<string, { readonly scorer: Scorer }>>): typeof scorers {
    const entries = Object.entries(scorers);
    hasScorers = entries.length > 0;
    return Object.fromEntries(
      entries.map(([name, entry]) => [name, { ...entry, scorer: reading(entry.scorer) }]),
    );
  }

  /** Returns the scorer. `store`: of a run that has not ended. */
  function reading(scorer: Scorer, store?: () => VariableStore): Scorer {
    const run = async (scored: Scored) => {
      const found = store?.() ?? stores.get(scored.runId ?? "");
      return scorer.run(found === undefined ? scored : await shown(scored, found));
    };
    return overlay(scorer, { run: () => run });
  }

  /** Returns what is scored, with values in its texts. */
  async function shown<Data extends Scored>(scored: Data, store: VariableStore): Promise<Data> {
    const read = async (held: unknown): Promise<unknown> => {
      if (typeof held === "string") return expandText(held, store, options);
      return Array.isArray(held) ? expandMessages(held, store, options) : held;
    };
    const { input, output } = scored;
    const written = { ...scored, output: await read(output) };
    if (!json.isObject(input)) return written;
    const parts = READ.filter((key) => key in input);
    const entries = await Promise.all(parts.map(async (key) => [key, await read(input[key])]));
    return { ...written, input: { ...input, ...(Object.fromEntries(entries) as object) } };
  }
}

/**
 * Returns the object with some of its properties replaced by the results of functions. It may have private fields,
 * so its own methods are called on itself.
 */
function overlay<Target extends object>(
  target: Target,
  replaced: { readonly [Key in keyof Target]?: () => unknown },
): Target {
  return new Proxy(target, {
    get(original, key) {
      if (Object.hasOwn(replaced, key)) return replaced[key as keyof Target]?.();
      const value: unknown = Reflect.get(original, key, original);
      return typeof value === "function" ? value.bind(original) : value;
    },
  });
}
