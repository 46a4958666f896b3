import type { TextStreamPart, ToolSet } from "ai";
import type { VariableStore } from "../store/variable-store.ts";
import { isObject } from "../value/json.ts";
import { type ExpandingOptions, expandStream, textsExpander } from "./expand-stream.ts";

/** The changed fields of `GenerateTextResult`. */
interface Answered {
  readonly text: string;
  readonly output: unknown;
}

/** The changed fields of `StreamTextResult`. */
interface Streamed<Tools extends ToolSet> {
  readonly stream: ReadableStream<TextStreamPart<Tools>>;
  readonly text: PromiseLike<string>;
  readonly output: PromiseLike<unknown>;
  readonly partialOutputStream: unknown;
  readonly elementStream: unknown;
}

/**
 * Returns the result with `text` and `output` expanded. All other fields stay as the SDK recorded them, by
 * reference: `steps`, `content` and `responseMessages`, for the history.
 */
export async function expandedResult<Result extends Answered>(
  result: Result,
  store: VariableStore,
  options: ExpandingOptions,
): Promise<Result> {
  const texts = new Texts(store, options);
  const text = await texts.expanded(result.text);
  // The getter throws if there is no output.
  const output = await Promise.resolve()
    .then(() => result.output)
    .then((value) => ({ value: texts.expandedIn(value) }))
    .catch(() => undefined);
  // Other properties are inherited from the result.
  return Object.create(result, {
    text: { value: text },
    ...(output === undefined ? {} : { output: { value: await output.value } }),
  }) as Result;
}

/**
 * Returns the result with its streams, `text` and `output` expanded, and with the responses that are made of
 * them. Partial outputs (`partialOutputStream`, `elementStream`) stay as the model wrote them.
 */
export function expandedStreamResult<Tools extends ToolSet, Result extends Streamed<Tools>>(
  result: Result,
  store: VariableStore,
  options: ExpandingOptions,
): Result {
  const texts = new Texts(store, options);
  const stream = () =>
    result.stream.pipeThrough<TextStreamPart<Tools>>(expandStream<Tools>(store, options));
  // The SDK's methods build responses from `this.stream`, which is the expanded stream here. Getters that
  // split the SDK's stream must run on the original result. All other properties are inherited.
  return Object.create(result, {
    stream: { get: stream },
    fullStream: { get: stream },
    text: { get: () => result.text.then((text) => texts.expanded(text)) },
    output: { get: () => result.output.then((output) => texts.expandedIn(output)) },
    partialOutputStream: { get: () => result.partialOutputStream },
    experimental_partialOutputStream: { get: () => result.partialOutputStream },
    elementStream: { get: () => result.elementStream },
  }) as Result;
}

class Texts {
  readonly #store: VariableStore;
  readonly #options: ExpandingOptions;

  constructor(store: VariableStore, options: ExpandingOptions) {
    this.#store = store;
    this.#options = options;
  }

  async expanded(text: string): Promise<string> {
    const pieces: string[] = [];
    const texts = textsExpander(this.#store, this.#options, (_, slice) => pieces.push(slice));
    texts.start("");
    await texts.write("", text);
    await texts.flush();
    return pieces.join("");
  }

  /** Expands every text in the value. A structured answer keeps its types. */
  async expandedIn<Value>(value: Value): Promise<Value> {
    // Only strings change, and they stay strings.
    return (await this.#expandedDeep(value)) as Value;
  }

  async #expandedDeep(value: unknown): Promise<unknown> {
    if (typeof value === "string") return this.expanded(value);
    if (Array.isArray(value)) return Promise.all(value.map((item) => this.#expandedDeep(item)));
    if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return value;
    const entries = Object.entries(value).map(
      async ([key, inner]) => [key, await this.#expandedDeep(inner)] as const,
    );
    return Object.fromEntries(await Promise.all(entries));
  }
}
