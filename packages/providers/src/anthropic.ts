import { AnthropicLanguageModel } from "@ai-sdk/anthropic/internal";
import { json } from "../../../src/internal.ts";
import type { Json } from "../../../src/references.ts";
import type { ModelProvider } from "../../../src/internal-edge.ts";
import {
  asText,
  countsIn,
  errorIn,
  type EventReader,
  FAILED,
  fetchEvents,
  objectsIn,
  reasonIn,
  textOf,
} from "./streamed-events.ts";

/**
 * `anthropic:<model>`: the Messages API. `MODEL_BASE_URL` may be that of an AI Gateway, `…/anthropic`. Uses
 * the model's class instead of `createAnthropic`, which adds 17 KiB and reads environment variables that are
 * not settings of this Worker.
 */
export const anthropicModels: ModelProvider = {
  name: "anthropic",
  model: (id, { MODEL_BASE_URL = "https://api.anthropic.com/v1", MODEL_API_KEY = "" }) =>
    new AnthropicLanguageModel(id, {
      provider: "anthropic.messages",
      baseURL: MODEL_BASE_URL.replace(/\/$/, ""),
      headers: { "anthropic-version": "2023-06-01", "x-api-key": MODEL_API_KEY },
      fetch: fetchEvents(() => new Message()),
      supportedUrls: () => ({ "image/*": [ANY_URL], "application/pdf": [ANY_URL] }),
    }),
};

/** URLs that the endpoint fetches itself. */
const ANY_URL = /^https?:\/\/.*$/;

/** What the provider reads: with another block or delta, it would end the answer. */
const BLOCKS = /(?:^|^text|thinking|tool_use|tool_result|^compaction)$/;
const DELTAS = /^(?:citations|compaction)_delta$/;
const TEXTS = ["text", "thinking", "partial_json", "signature"];

/**
 * Reads Anthropic's Messages API. Endpoints that follow it leave out counts of tokens, the ends of blocks or of the
 * message, use an index again, or send a text with the start of its block. What is of other types is to be ignored, as
 * Anthropic's versioning policy says. Nothing that the model said is changed.
 */
class Message implements EventReader {
  /** Blocks that have not ended, by the endpoint's index: their index here, or undefined if they are ignored. */
  readonly #open = new Map<string, number | undefined>();
  #blocks = 0;
  #hasCalled = false;
  #reason: string | undefined;
  #counts: json.JsonObject = { output_tokens: 0 };
  #hasEnded = false;

  get hasReason(): boolean {
    return this.#reason !== undefined;
  }

  readonly read = (event: json.JsonObject): readonly json.JsonObject[] => {
    const failure = errorIn(event) ?? (event.type === "error" ? FAILED : undefined);
    if (failure !== undefined)
      return [{ type: "error", error: { ...failure, type: textOf(failure.type) ?? "api_error" } }];
    switch (event.type) {
      case "message":
        return this.#whole(event);
      case "message_start": {
        const [{ id, usage, ...message } = {}] = objectsIn(event.message);
        const counts = { input_tokens: 0, output_tokens: 0, ...countsIn(usage) };
        return [{ ...event, message: { ...message, id: textOf(id) ?? null, usage: counts } }];
      }
      case "message_delta":
        return this.#delta(event);
      case "content_block_start":
        return this.#start(event);
      case "content_block_delta":
        return this.#blockDelta(event);
      case "content_block_stop":
        return this.#stop(keyOf(event));
      case "message_stop":
        return this.end(true);
      default:
        return event.type === "ping" ? [event] : [];
    }
  };

  /** An answer is complete once it has a reason. Some endpoints give no other sign than the end. */
  readonly end = (isSaid: boolean): readonly json.JsonObject[] => {
    if (this.#hasEnded || !(isSaid || this.hasReason)) return [];
    this.#hasEnded = true;
    const isMissing = !this.hasReason && this.#blocks > 0;
    const reason = this.#hasCalled ? "tool_use" : "end_turn";
    const last = isMissing
      ? this.#delta({ type: "message_delta", delta: { stop_reason: reason } })
      : this.#stopAll();
    return [...last, { type: "message_stop" }];
  };

  /** A message that was not streamed. */
  #whole({ content, stop_reason: reason = null, usage = null, ...message }: json.JsonObject) {
    const blocks = objectsIn(content).flatMap((block, index) => [
      { type: "content_block_start", index, content_block: block },
      { type: "content_block_stop", index },
    ]);
    return [
      { type: "message_start", message: { ...message, content: [], usage } },
      ...blocks,
      { type: "message_delta", delta: { stop_reason: reason }, usage },
      { type: "message_stop" },
    ].flatMap((event) => this.read(event));
  }

  /** A later event does not take back the reason. */
  #delta(event: json.JsonObject): readonly json.JsonObject[] {
    const [{ stop_reason: word, ...others } = {}] = objectsIn(event.delta);
    this.#reason = reasonOf(word) ?? this.#reason;
    const delta = { ...others, stop_reason: this.#reason ?? null };
    this.#counts = { ...this.#counts, ...countsIn(event.usage) };
    return [...this.#stopAll(), { ...event, delta, usage: this.#counts }];
  }

  #start(event: json.JsonObject): readonly json.JsonObject[] {
    const key = keyOf(event);
    const before = this.#stop(key);
    const [block = {}] = objectsIn(event.content_block);
    const isKnown = BLOCKS.test(textOf(block.type) ?? "");
    const index = isKnown ? this.#blocks++ : undefined;
    this.#open.set(key, index);
    if (index === undefined) return before;
    this.#hasCalled ||= block.type === "tool_use";
    return [...before, ...startOf({ ...event, index, content_block: block }, block)];
  }

  #blockDelta(event: json.JsonObject): readonly json.JsonObject[] {
    const [delta = {}] = objectsIn(event.delta);
    const texts = TEXTS.filter((name) => name in delta);
    if (texts.length === 0 && !DELTAS.test(textOf(delta.type) ?? "")) return [];
    const key = keyOf(event);
    const kind = texts.find((name) => name === "text" || name === "thinking");
    const isMissing = kind !== undefined && !this.#open.has(key);
    const before = isMissing
      ? this.#start({ ...event, type: "content_block_start", content_block: { type: kind } })
      : [];
    const index = this.#open.get(key);
    if (index === undefined) return before;
    const said = texts.map((name) => [name, asText(delta[name] ?? null)] as const);
    return [...before, { ...event, index, delta: { ...delta, ...Object.fromEntries(said) } }];
  }

  #stop(key: string): readonly json.JsonObject[] {
    const index = this.#open.get(key);
    this.#open.delete(key);
    return index === undefined ? [] : [{ type: "content_block_stop", index }];
  }

  #stopAll(): readonly json.JsonObject[] {
    return [...this.#open.keys()].flatMap((key) => this.#stop(key));
  }
}

function keyOf({ index }: json.JsonObject): string {
  return textOf(index) ?? "";
}

const REASONS = {
  calls: "tool_use",
  done: "end_turn",
  length: "max_tokens",
  filtered: "refusal",
} as const;
/** Anthropic's own words, which say more. */
const OWN = /^(?:stop_sequence|pause_turn|compaction|model_context_window_exceeded)$/u;

function reasonOf(word: Json | undefined): string | undefined {
  const text = textOf(word);
  const known = reasonIn(word);
  const isOwn = known === undefined || known === "failed" || OWN.test(text ?? "");
  return isOwn ? text : REASONS[known];
}

function startOf(event: json.JsonObject, block: json.JsonObject): readonly json.JsonObject[] {
  const { type, input, id } = block;
  if (type === "text" || type === "thinking") {
    const text = asText(block[type] ?? null);
    const start = { ...event, content_block: { ...block, [type]: "" } };
    const delta = { type: `${type}_delta`, [type]: text };
    return text === "" ? [start] : [start, { ...event, type: "content_block_delta", delta }];
  }
  if (type !== "tool_use") return [event];
  const given = json.isJsonObject(input ?? null) ? {} : { input: {} };
  return [{ ...event, content_block: { ...block, id: textOf(id) ?? "", ...given } }];
}
