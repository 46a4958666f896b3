import type { TextStreamPart, ToolSet } from "ai";
import type { VariableStore } from "../store/variable-store.ts";
import { isObject } from "../value/json.ts";
import { type ExpandingOptions, expandStream, textsExpander } from "./expand-stream.ts";

/** What is changed of `GenerateTextResult`. */
interface Answered {
  readonly text: string;
  readonly output: unknown;
}

/** What is changed of `StreamTextResult`. */
interface Streamed<Tools extends ToolSet> {
  readonly stream: ReadableStream<TextStreamPart<Tools>>;
  readonly text: PromiseLike<string>;
  readonly output: PromiseLike<unknown>;
  readonly partialOutputStream: unknown;
  readonly elementStream: unknown;
}

/**
 * The same result with `text` and `output` expanded. All else is what the SDK recorded, by reference:
 * `steps`, `content`, `responseMessages`, to be kept as history.
 */
export async function expandedResult<Result extends Answered>(
  result: Result,
  store: VariableStore,
  options: ExpandingOptions,
): Promise<Result> {
  const texts = new Texts(store, options);
  const text = await texts.expanded(result.text);
  // Reading it throws where there is none.
  const output = await Promise.resolve()
    .then(() => result.output)
    .then((value) => ({ value: texts.expandedIn(value) }))
    .catch(() => undefined);
  // What is not named here is the result's own.
  return Object.create(result, {
    text: { value: text },
    ...(output === undefined ? {} : { output: { value: await output.value } }),
  }) as Result;
}

/**
 * The same result with its streams, `text` and `output` expanded, and with them the responses that are
 * made of them. What is partial (`partialOutputStream`, `elementStream`) stays as the model wrote it.
 */
export function expandedStreamResult<Tools extends ToolSet, Result extends Streamed<Tools>>(
  result: Result,
  store: VariableStore,
  options: ExpandingOptions,
): Result {
  const texts = new Texts(store, options);
  const stream = () =>
    result.stream.pipeThrough<TextStreamPart<Tools>>(expandStream<Tools>(store, options));
  // The SDK's methods make responses of `this.stream`, which is then ours. What splits the stream has
  // to do so where the SDK does. All else is the result's own.
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

/** Expands whole texts. */
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

  /** Every text in the value: a structured answer keeps its types. */
  async expandedIn<Value>(value: Value): Promise<Value> {
    // Texts are replaced by texts; everything else stays as it was.
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
