import * as limits from "../../limits.ts";
import type { Variables } from "../../store/variable-store.ts";
import type { VariableInfo } from "../../store/variable.ts";
import type { Json, JsonObject } from "../../value/json.ts";
import type { ModelOutput } from "../runtime-tool.ts";
import { toBase64 } from "../../value/base64.ts";

/** Those that the providers of the AI SDK take. */
const IMAGE = /^image\/(?:png|jpeg|webp|gif)$/u;

/** May a model be shown it as an image? */
export function isShowable({ mediaType, bytes, visibility }: VariableInfo): boolean {
  return visibility === "model" && IMAGE.test(mediaType) && bytes <= limits.maxShownImageBytes;
}

/** What is kept of an image that a model has asked for: which it was, never its bytes. */
export function aboutImage(info: VariableInfo): Json {
  const { name, version, updatedAt, type, bytes, mediaType, trusted } = info;
  const which = { version, updatedAt, trusted };
  return { reference: `$${name}`, type, bytes, mediaType, ...which, image: true };
}

/** True of what `aboutImage` made; no other tool returns both keys. */
export function isImage(output: unknown): output is JsonObject {
  if (typeof output !== "object" || output === null) return false;
  return "image" in output && output.image === true && "reference" in output;
}

/** The same in a prompt that does not have the image, so that the model does not take it for seen. */
export function withoutImage(output: JsonObject): JsonObject {
  return { ...output, image: LEFT_OUT };
}

const LEFT_OUT = `left out: you see the newest ${limits.maxShownImages} that you read in this turn; read it again to see it`;

/** The image itself, as long as it is the one that was asked for. */
export async function imageIn(output: JsonObject, store: Variables): Promise<ModelOutput> {
  const name = String(output.reference).slice(1);
  const info = store.info(name);
  if (info === undefined || !isShowable(info) || !isSame(info, output)) return textOf(output);
  const open = store.open(name);
  if (open === undefined) return textOf(output);
  try {
    const data = toBase64(await open.read(0, info.bytes));
    const { mediaType } = info;
    return {
      type: "content",
      value: [
        { type: "text", text: JSON.stringify(output) },
        { type: "file", mediaType, data: { type: "data", data } },
      ],
    };
  } finally {
    open.close();
  }
}

function textOf(output: JsonObject): ModelOutput {
  return { type: "json", value: withoutImage(output) };
}

/** A version alone would not tell: they begin anew when a variable is deleted. */
function isSame({ version, updatedAt, trusted }: VariableInfo, output: JsonObject): boolean {
  return version === output.version && updatedAt === output.updatedAt && trusted === output.trusted;
}
