import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
} from "@ai-sdk/provider";
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setSeconds } from "./metered.ts";
import { around } from "./model-middleware.ts";

export interface CacheOptions {
  readonly folder: string;
  /** What beside the request determines an answer: the model and its endpoint. */
  readonly model: string;
  readonly now: () => number;
  /** Called for each answer that did not come from the cache. */
  readonly onMiss?: () => void;
}

interface Answer {
  readonly result: Pick<LanguageModelV4GenerateResult, "content" | "finishReason" | "usage">;
  readonly seconds: number;
}

/** Returns the model with a cache: the same request has the same answer, and is sent once. */
export function cached(
  model: LanguageModelV4,
  { folder, model: name, now, onMiss }: CacheOptions,
): LanguageModelV4 {
  return around(model, async ({ doGenerate, params }) => {
    const path = join(folder, pathOf(name, params));
    const known = readAnswer(path);
    if (known !== undefined) {
      const result = { ...known.result, warnings: [] };
      setSeconds(result, known.seconds);
      return result;
    }
    onMiss?.();
    const began = now();
    const result = await doGenerate();
    const { content, finishReason, usage } = result;
    writeAnswer(path, {
      result: { content, finishReason, usage },
      seconds: (now() - began) / 1_000,
    });
    return result;
  });
}

/** Depends on all that the model is sent. */
function pathOf(name: string, params: LanguageModelV4CallOptions): string {
  const { abortSignal: _abortSignal, headers: _headers, ...sent } = params;
  const digest = createHash("sha256")
    .update(JSON.stringify([name, sent]))
    .digest("hex");
  return join(digest.slice(0, 2), `${digest}.json`);
}

/** Undefined if there is none, or its file is not whole. */
function readAnswer(path: string): Answer | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Answer;
  } catch {
    return undefined;
  }
}

function writeAnswer(path: string, answer: Answer): void {
  mkdirSync(dirname(path), { recursive: true });
  const own = `${path}.${randomUUID()}`;
  writeFileSync(own, JSON.stringify(answer));
  renameSync(own, path);
}
