import { AnthropicLanguageModel } from "@ai-sdk/anthropic/internal";
import { isJsonObject, type Json, type JsonObject } from "../../value/json.ts";
import { type ModelProvider, withoutTrailingSlash } from "./model.ts";
import { asText, countsIn, errorIn, fetchEvents, objectsIn, textOf } from "./streamed-events.ts";

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
      baseURL: withoutTrailingSlash(MODEL_BASE_URL),
      headers: { "anthropic-version": "2023-06-01", "x-api-key": MODEL_API_KEY },
      fetch: fetchMessages,
      supportedUrls: () => ({ "image/*": [ANY_URL], "application/pdf": [ANY_URL] }),
    }),
};

/** URLs that the endpoint fetches itself. */
const ANY_URL = /^https?:\/\/.*$/;

/**
 * `fetch` for Anthropic's Messages API. Endpoints that follow it leave out counts of tokens, or send a text with the
 * start of its block. What is of other types is to be ignored, as Anthropic's versioning policy says.
 */
const fetchMessages = fetchEvents(() => {
  const ignored = new Set<unknown>();
  return { read: (event) => readEvent(event, ignored) };
});

/** What the provider reads: with another block or delta, it would end the answer. */
const BLOCKS = /(?:^|^text|thinking|tool_use|tool_result|^compaction)$/;
const DELTAS = /^(?:citations|compaction)_delta$/;

function readEvent(event: JsonObject, ignored: Set<unknown>): readonly JsonObject[] {
  const failed = event.type === "error" ? { message: "The endpoint failed." } : undefined;
  const failure = errorIn(event) ?? failed;
  if (failure !== undefined) return [{ type: "error", error: { type: "api_error", ...failure } }];
  const ofBlock = { ...event, index: Number(event.index ?? 0) };
  switch (event.type) {
    case "message_start": {
      const [{ id, usage, ...message } = {}] = objectsIn(event.message);
      const counts = { input_tokens: 0, output_tokens: 0, ...countsIn(usage) };
      return [{ ...event, message: { ...message, id: textOf(id) ?? null, usage: counts } }];
    }
    case "message_delta":
      return [{ ...event, usage: { output_tokens: 0, ...countsIn(event.usage) } }];
    case "content_block_start":
      if (BLOCKS.test(typeIn(event.content_block))) return startOf(ofBlock);
      ignored.add(ofBlock.index);
      return [];
    case "content_block_delta": {
      const [delta = {}] = objectsIn(event.delta);
      const texts = TEXTS.filter((name) => name in delta);
      const isUnknown = texts.length === 0 && !DELTAS.test(typeIn(delta));
      if (isUnknown || ignored.has(ofBlock.index)) return [];
      const said = texts.map((name) => [name, asText(delta[name] ?? null)] as const);
      return [{ ...ofBlock, delta: { ...delta, ...Object.fromEntries(said) } }];
    }
    case "content_block_stop":
      return ignored.delete(ofBlock.index) ? [] : [ofBlock];
    default:
      return event.type === "message_stop" || event.type === "ping" ? [event] : [];
  }
}

function typeIn(value: Json | undefined): string {
  const [{ type } = {}] = objectsIn(value);
  return textOf(type) ?? "";
}

const TEXTS = ["text", "thinking", "partial_json", "signature"];

function startOf(event: JsonObject): readonly JsonObject[] {
  const [block = {}] = objectsIn(event.content_block);
  const { type, input, id } = block;
  if (type === "text" || type === "thinking") {
    const text = asText(block[type] ?? null);
    const start = { ...event, content_block: { ...block, [type]: "" } };
    const delta = { type: `${type}_delta`, [type]: text };
    return text === "" ? [start] : [start, { ...event, type: "content_block_delta", delta }];
  }
  if (type !== "tool_use") return [event];
  const given = isJsonObject(input ?? null) ? {} : { input: {} };
  return [{ ...event, content_block: { ...block, id: textOf(id) ?? "", ...given } }];
}
