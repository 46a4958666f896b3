import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4StreamPart as Part } from "@ai-sdk/provider";
import { type LanguageModelMiddleware, wrapLanguageModel } from "ai";
import { json } from "../../../src/internal.ts";
import type { Json } from "../../../src/references.ts";
import { fetchCompletions } from "./completions.ts";
import type { ModelProvider } from "../../../src/internal-edge.ts";
import { objectsIn, textOf } from "./streamed-events.ts";

/** `openai-compatible:<model>`: any endpoint with the chat completions API, at `MODEL_BASE_URL`. */
export const openaiCompatibleModels: ModelProvider = {
  name: "openai-compatible",
  model(id, { MODEL_BASE_URL = "", MODEL_API_KEY }) {
    const provider = createOpenAICompatible({
      name: "openai-compatible",
      baseURL: MODEL_BASE_URL,
      includeUsage: true,
      fetch: fetchCompletions,
      ...json.compact({ apiKey: MODEL_API_KEY }),
    });
    return wrapLanguageModel({ model: provider(id), middleware: withImages });
  },
};

/** Adds the images of an answer, which the provider leaves out. */
const withImages: LanguageModelMiddleware = {
  transformParams: async ({ params }) => ({ ...params, includeRawChunks: true }),
  wrapStream: async ({ doStream }) => {
    const { stream, ...about } = await doStream();
    const images = new TransformStream<Part, Part>({
      transform(part, controller) {
        // The provider has parsed it.
        const parts = part.type === "raw" ? imagesIn(part.rawValue as Json) : [part];
        for (const one of parts) controller.enqueue(one);
      },
    });
    return { ...about, stream: stream.pipeThrough(images) };
  },
};

function imagesIn(chunk: Json): readonly Part[] {
  const deltas = objectsIn(chunk)
    .flatMap(({ choices }) => objectsIn(choices))
    .flatMap(({ delta }) => objectsIn(delta));
  const parts = deltas.flatMap(({ images, content }) => [images, content].flatMap(objectsIn));
  return parts.flatMap(({ image_url: image }): readonly Part[] => {
    const [{ url } = { url: image }] = objectsIn(image);
    const [, mediaType, data] = DATA_URL.exec(textOf(url) ?? "") ?? [];
    if (mediaType === undefined || data === undefined) return [];
    return [{ type: "file", mediaType, data: { type: "data", data } }];
  });
}

const DATA_URL = /^data:(image\/[^;,]+);base64,(.*)$/su;
