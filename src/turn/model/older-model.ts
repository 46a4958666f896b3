import type {
  LanguageModelV2,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Prompt,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
} from "@ai-sdk/provider";
import { logWarnings } from "ai/internal";
import { toBase64 } from "../../value/base64.ts";
import { compact } from "../../value/json.ts";

type OlderPart = LanguageModelV2StreamPart | LanguageModelV3StreamPart;

/**
 * Returns a model of an older specification as one of the newest, for streams only. Converts as the SDK's
 * `wrapLanguageModel` does, which is in a module that adds 11 KiB to a Worker (gzip).
 */
export function upgraded(model: LanguageModelV2 | LanguageModelV3): LanguageModelV4 {
  const { provider, modelId, supportedUrls } = model;
  if (model.specificationVersion === "v2") {
    const details =
      "Using v2 specification compatibility mode. Some features may not be available.";
    const feature = "specificationVersion";
    logWarnings({
      warnings: [{ type: "compatibility", feature, details }],
      provider,
      model: modelId,
    });
  }
  return {
    specificationVersion: "v4",
    provider,
    modelId,
    supportedUrls,
    doGenerate() {
      throw new Error("A model is only called for streams.");
    },
    async doStream(options) {
      // The second version ignores the options that it does not know.
      const older = withOlderPrompt(options) as Parameters<LanguageModelV2["doStream"]>[0] &
        LanguageModelV3CallOptions;
      const { stream, ...about } = await model.doStream(older);
      const parts: ReadableStream<OlderPart> = stream;
      const newer = new TransformStream<OlderPart, LanguageModelV4StreamPart>({
        transform: (part, controller) => controller.enqueue(newerPart(part)),
      });
      return { ...about, stream: parts.pipeThrough(newer) };
    },
  };
}

function withOlderPrompt({ prompt, ...options }: LanguageModelV4CallOptions) {
  // Parts that older versions do not define are passed on unchanged.
  return { ...options, prompt: prompt.map(olderMessage) as LanguageModelV3Prompt };
}

function olderMessage(message: LanguageModelV4Message) {
  if (message.role === "system") return message;
  const content = message.content.map((part) => {
    if (part.type === "tool-result") return { ...part, output: olderOutput(part.output) };
    if (part.type !== "file") return part;
    const { data } = part;
    if (data.type === "data") return { ...part, data: data.data };
    return data.type === "url" ? { ...part, data: data.url } : part;
  });
  return { ...message, content };
}

function olderOutput(output: LanguageModelV4ToolResultOutput) {
  if (output.type !== "content") return output;
  const value = output.value.map((part) => {
    if (part.type !== "file" || part.data.type === "text") return part;
    const { data: file, mediaType, filename, providerOptions } = part;
    const about = compact({ providerOptions });
    switch (file.type) {
      case "data": {
        const data = typeof file.data === "string" ? file.data : toBase64(file.data);
        return { type: "file-data", data, mediaType, ...compact({ filename }), ...about };
      }
      case "url":
        return { type: "file-url", url: file.url.href, ...about };
      case "reference":
        return { type: "file-id", fileId: file.reference, ...about };
    }
  });
  return { ...output, value };
}

function newerPart(part: OlderPart): LanguageModelV4StreamPart {
  if (part.type === "file") return { ...part, data: { type: "data", data: part.data } } as const;
  if (part.type !== "finish" || typeof part.finishReason !== "string") {
    // All other parts are the same in each version.
    return part as LanguageModelV4StreamPart;
  }
  const { finishReason, usage } = part as Extract<LanguageModelV2StreamPart, { type: "finish" }>;
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens, totalTokens } = usage;
  return {
    ...part,
    finishReason: { unified: finishReason === "unknown" ? "other" : finishReason, raw: undefined },
    usage: {
      inputTokens: {
        total: inputTokens,
        noCache: undefined,
        cacheRead: cachedInputTokens,
        cacheWrite: undefined,
      },
      outputTokens: { total: outputTokens, text: undefined, reasoning: reasoningTokens },
      ...(totalTokens == null ? {} : { raw: { totalTokens } }),
    },
  };
}
