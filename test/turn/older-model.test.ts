import type {
  LanguageModelV2,
  LanguageModelV3,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import {
  convertArrayToReadableStream,
  convertReadableStreamToArray,
} from "@ai-sdk/provider-utils/test";
import { wrapLanguageModel } from "ai";
import { describe, expect, it } from "vitest";
import { upgraded } from "../../src/turn/model/older-model.ts";

// The SDK would warn on the console about the old model.
globalThis.AI_SDK_LOG_WARNINGS = false;

const providerOptions = { scripted: { cached: true } };
const bytes = new Uint8Array([1, 2, 250]);
const url = new URL("https://example.com/a b.png");
const files = [
  { type: "data", data: "AQI=" },
  { type: "data", data: bytes },
  { type: "url", url },
  { type: "reference", reference: { scripted: "file-1" } },
  { type: "text", text: "plain" },
] as const;

const prompt: LanguageModelV4Prompt = [
  { role: "system", content: "Be short.", providerOptions },
  {
    role: "user",
    content: [
      { type: "text", text: "Look.", providerOptions },
      ...files.map((data) => ({ type: "file", mediaType: "image/png", data }) as const),
      { type: "file", mediaType: "image/png", filename: "a.png", data: files[0], providerOptions },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "Hm." },
      { type: "tool-call", toolCallId: "1", toolName: "look", input: { at: 1 } },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "1",
        toolName: "look",
        output: {
          type: "content",
          value: [
            { type: "text", text: "Seen." },
            ...files.map((data) => ({ type: "file", mediaType: "image/png", data }) as const),
            { type: "file", mediaType: "a/b", filename: "a", data: files[1], providerOptions },
            { type: "file", mediaType: "a/b", data: files[2], providerOptions },
          ],
        },
      },
      {
        type: "tool-result",
        toolCallId: "2",
        toolName: "look",
        output: { type: "json", value: { n: 1 } },
      },
    ],
  },
];

const options: LanguageModelV4CallOptions = {
  prompt,
  temperature: 0.5,
  toolChoice: { type: "auto" },
};

const common = [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "Hello." },
  { type: "text-end", id: "1" },
  { type: "file", mediaType: "image/png", data: "AQI=" },
  { type: "tool-call", toolCallId: "3", toolName: "look", input: "{}" },
  { type: "error", error: "late" },
];

const finishes = {
  v3: [
    {
      type: "finish",
      finishReason: { unified: "stop", raw: "end" },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 2 } },
    },
  ],
  v2: [
    {
      type: "finish",
      finishReason: "unknown",
      usage: {
        inputTokens: 1,
        cachedInputTokens: 4,
        outputTokens: 2,
        reasoningTokens: 3,
        totalTokens: 6,
      },
    },
    {
      type: "finish",
      finishReason: "tool-calls",
      usage: { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined },
      providerMetadata: providerOptions,
    },
  ],
};

/** A model of an older version that records its calls. `this` must be the model. */
class Older {
  readonly provider = "scripted.old";
  readonly modelId = "old";
  readonly supportedUrls = { "image/*": [/^https:/u] };
  readonly calls: unknown[] = [];
  readonly specificationVersion: "v2" | "v3";

  constructor(version: "v2" | "v3") {
    this.specificationVersion = version;
  }

  async doStream(given: unknown): Promise<unknown> {
    this.calls.push(given);
    const parts = [...common, ...finishes[this.specificationVersion]];
    return { stream: convertArrayToReadableStream(parts), request: { body: "asked" } };
  }
}

async function streamed(version: "v2" | "v3", upgrade: typeof upgraded) {
  const old = new Older(version);
  const model = upgrade(old as unknown as LanguageModelV2 | LanguageModelV3);
  const { specificationVersion, provider, modelId, supportedUrls } = model;
  const { stream, ...about } = await model.doStream(options);
  const parts = await convertReadableStreamToArray(stream);
  const named = { specificationVersion, provider, modelId, supportedUrls };
  return { calls: old.calls, parts, about, named };
}

describe("a model of an older version", () => {
  it.each(["v2", "v3"] as const)(
    "%s gets the same calls and gives the same answers as in the SDK",
    async (version) => {
      const sdk = await streamed(version, (model) => wrapLanguageModel({ model, middleware: [] }));
      expect(sdk.parts.length).toBeGreaterThan(common.length);
      expect(await streamed(version, upgraded)).toEqual(sdk);
    },
  );
});
