import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
} from "@ai-sdk/provider";
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { secondsOf, setSeconds } from "./metered.ts";
import { around } from "./model-middleware.ts";

export interface CacheOptions {
  readonly folder: string;
  /** The model and its endpoint, which determine the answer together with the request. */
  readonly model: string;
}

interface Answer {
  readonly result: Pick<LanguageModelV4GenerateResult, "content" | "finishReason" | "usage">;
  readonly seconds: number;
}

/** Returns the model with a cache: the same request has the same answer, and is sent once. */
export function cached(
  model: LanguageModelV4,
  { folder, model: name }: CacheOptions,
): LanguageModelV4 {
  const running = new Map<string, Promise<Answer>>();
  return around(model, async ({ doGenerate, params }) => {
    const path = join(folder, pathOf(name, params));
    const send = async () => {
      const result = await doGenerate();
      const { content, finishReason, usage } = result;
      const answer = { result: { content, finishReason, usage }, seconds: secondsOf(result) };
      writeAnswer(path, answer);
      return answer;
    };
    const { result, seconds } = readAnswer(path) ?? (await sharedBy(running, path, send));
    // Each caller has a result of its own.
    const copy = { ...structuredClone(result), warnings: [] };
    setSeconds(copy, seconds);
    return copy;
  });
}

/** Calls a function, or waits for the call with the same key that is running. */
function sharedBy<Value>(
  running: Map<string, Promise<Value>>,
  key: string,
  call: () => Promise<Value>,
): Promise<Value> {
  const started = running.get(key) ?? call().finally(() => running.delete(key));
  running.set(key, started);
  return started;
}

/** Returns a path that depends on everything in the request. */
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
