import type { CallToolResult, ProtocolError } from "@modelcontextprotocol/server";
import { maxShownResultChars } from "../../../src/limits.ts";
import { joinedRules } from "../../mcp/src/server-rules.ts";
import { encoding, json } from "../../../src/internal.ts";
import type { ModelOutput, Ready, Saved } from "../../../src/internal-tool.ts";
import type { ToolOutput } from "../../../src/runtime.ts";
import type { Json } from "../../../src/references.ts";
import {
  answerOf,
  clientResult,
  contentChars,
  failedResult,
  ownResult,
  withoutVariable,
  withoutViews,
} from "./call-result.ts";
import type { OfferedTool } from "./offered-tools.ts";
import { isWrongReference, type Statistics } from "./statistics.ts";

export interface FinishedCall {
  readonly saved: Saved;
  /** The result as returned by the server; undefined for a tool of the gateway. */
  readonly received: CallToolResult | undefined;
  readonly ready: Ready;
  /** What a tool of the gateway shows in place of its output. */
  readonly shown?: ModelOutput | undefined;
}

/** Why a call did not succeed. */
export interface CallFailure {
  readonly code: string;
  readonly message: string;
}

/** Makes what clients are sent for calls, and counts it. */
export class CallResults {
  readonly #statistics: Statistics;
  /** The tools that were called with a wrong reference, and have not succeeded since. */
  readonly #toCorrect = new Set<string>();

  constructor(statistics: Statistics) {
    this.#statistics = statistics;
  }

  saved(
    { definition, from, isLocal }: OfferedTool,
    { saved, received, ready, shown }: FinishedCall,
  ): CallToolResult {
    const { info } = saved;
    const { authoredChars, resolvedChars, values } = ready.references;
    // A tool of the pipeline returns one of its outputs.
    const output = saved.output as ToolOutput;
    const answered = isLocal === true ? answerOf(output) : received;
    const isOwn = isLocal !== true && received === undefined;
    const rules = from && joinedRules(from.upstream.server, from.tool.name);
    const inlineChars = rules?.inlineChars ?? maxShownResultChars;
    const result = isOwn
      ? ownResult(saved.output as Json, info, shown)
      : clientResult({ received: answered, output, info, inlineChars });
    this.#statistics.add({
      calls: 1,
      kept: saved.info === undefined ? 0 : 1,
      charactersReceived: received === undefined ? (info?.bytes ?? 0) : contentChars(received),
      charactersSent: contentChars(result),
      referenceCharacters: authoredChars,
      bytesByReference: resolvedChars + values.reduce<number>(addMoreBytes, 0),
      recovered: Number(result.isError !== true && this.#toCorrect.delete(definition.name)),
    });
    return result;
  }

  failed(tool: string, { code, message }: CallFailure): CallToolResult {
    const result = failedResult(code, message);
    const charactersSent = contentChars(result);
    const isWrong = isWrongReference(code);
    if (isWrong) this.#toCorrect.add(tool);
    this.#statistics.add({ calls: 1, charactersSent, wrongReferences: Number(isWrong) });
    return result;
  }

  /** Counts a call that its server answered with an error of the protocol, which is passed on. */
  refused(error: ProtocolError): ProtocolError {
    const { length } = error.message;
    this.#statistics.add({ calls: 1, charactersReceived: length, charactersSent: length });
    return error;
  }

  /** Passes on a short failure as the server reported it. */
  failedAtServer(received: CallToolResult): CallToolResult {
    const result = withoutViews(withoutVariable(received));
    const characters = contentChars(result);
    this.#statistics.add({
      calls: 1,
      charactersReceived: characters,
      charactersSent: characters,
    });
    return result;
  }
}

/** Adds the bytes of a value as JSON in UTF-8 that it has more than characters. */
function addMoreBytes(sum: number, value: unknown): number {
  if (typeof value === "string") return sum + encoding.byteLength(value) - value.length;
  if (value instanceof Uint8Array) return sum;
  if (Array.isArray(value)) return value.reduce<number>(addMoreBytes, sum);
  if (!json.isObject(value)) return sum;
  return Object.entries(value).flat().reduce<number>(addMoreBytes, sum);
}
