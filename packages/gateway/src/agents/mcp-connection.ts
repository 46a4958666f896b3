import type { CallToolResult, Tool } from "@modelcontextprotocol/client";
import type { JSONSchema7 } from "ai";
import { ClientOfGateway } from "../client-of-gateway.ts";
import { type Greeting, transportInWorker } from "../servers/connecting.ts";
import { textOfResult } from "../servers/result-value.ts";
import { redact } from "../servers/secrets.ts";
import { Upstream } from "../servers/upstream.ts";
import * as limits from "../../../../src/limits.ts";
import { ByrefError, messageOf } from "../../../../src/errors.ts";
import { characters, json, unlessAborted } from "../../../../src/internal.ts";
import { acceptableSchema, type mcpRules } from "../../../../src/internal-tool.ts";

/** A tool as its server lists it. */
export type McpDefinition = Tool & {
  /** The schema of its input as a model is shown it. */
  readonly shown: JSONSchema7;
};

export interface McpList {
  readonly tools: readonly McpDefinition[];
  /** What the server lists beside them. Empty if that is nothing. */
  readonly leftOut: string;
}

export interface McpConnectionOptions {
  readonly greeting: Greeting | undefined;
  /** Of the turn. */
  readonly signal: AbortSignal;
  /** Called when a call's failure suggests that the server has changed. */
  readonly onStale: () => void;
}

/**
 * A connection to an MCP server for one turn. It is opened by the first list or call, shared by the turn's
 * calls, and ended by `close`. Its errors reveal neither the server's headers nor its address.
 */
export class McpConnection {
  readonly #upstream: Upstream;
  readonly #signal: AbortSignal;
  readonly #onStale: () => void;

  constructor(
    { name, url, headers = {} }: mcpRules.McpServer,
    { greeting, signal, onStale }: McpConnectionOptions,
  ) {
    const server = { name, address: { url, headers }, rules: {} };
    const client = new ClientOfGateway();
    const log = () => undefined;
    this.#upstream = new Upstream(server, { open: transportInWorker, log, client, greeting });
    this.#signal = signal;
    this.#onStale = onStale;
  }

  get greeting(): Greeting | undefined {
    return this.#upstream.greeting;
  }

  /** Returns the server's tools, at most `maxMcpTools`. Rejects if the server cannot be reached. */
  async list(): Promise<McpList> {
    const listed = await this.#upstream.tools().catch((error: unknown) => {
      throw this.#failure(error);
    });
    const tools: McpDefinition[] = [];
    const leftOut = this.#upstream.status.leftOut?.map(({ name }) => name) ?? [];
    for (const tool of listed.tools) {
      const inputSchema = tool.inputSchema as JSONSchema7;
      if (tools.length === limits.maxMcpTools) {
        leftOut.push(`all after the first ${limits.maxMcpTools}`);
        break;
      }
      if (isUsable(inputSchema)) {
        const shown = acceptableSchema(inputSchema);
        tools.push({ ...tool, shown: { properties: {}, ...shown, type: "object" } });
      } else leftOut.push(tool.name);
    }
    return { tools, leftOut: leftOut.join(", ") };
  }

  /** Calls a tool. Throws `tool_failed` with the server's message. `signal` cancels the call on the server. */
  async call(
    tool: McpDefinition,
    input: Readonly<Record<string, unknown>>,
    signal = this.#signal,
  ): Promise<CallToolResult> {
    const calling = this.#upstream.call({ tool, input, from: { signal } });
    const result = await unlessAborted(calling, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#onStale();
      throw this.#failure(error);
    });
    if (result.isError !== true) return result;
    const message = reasonIn(result);
    if (UNKNOWN_TOOL.test(characters.clip(message, limits.maxReasonChars))) this.#onStale();
    throw new ByrefError("tool_failed", message);
  }

  /** Ends the session, if there is one. Never rejects. The connection cannot be used afterwards. */
  close(): Promise<void> {
    return this.#upstream.close();
  }

  #failure(error: unknown): ByrefError {
    const { name, address } = this.#upstream.server;
    const { host, hostname } = new URL("url" in address ? address.url : "");
    const message = redact(messageOf(error), [host, hostname]);
    const isNamed = error instanceof ByrefError;
    return new ByrefError("tool_failed", isNamed ? message : `Server ${name}: ${message}`);
  }
}

/** One schema without end must not remove all other tools from a turn. */
function isUsable(schema: object): boolean {
  return (
    isShallow(schema, limits.maxDepth) && JSON.stringify(schema).length <= limits.maxPieceChars
  );
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1));
}

/** Returns the texts of a failure, and its structured content, unless they repeat it. */
function reasonIn(failure: CallToolResult): string {
  const text = textOfResult(failure);
  const structured = failure.structuredContent ?? null;
  if (structured === null) return text === "" ? "The tool failed and did not say why." : text;
  const written = JSON.stringify(structured);
  const [only, ...others] = json.isObject(structured) ? Object.values(structured) : [];
  const isRepeated =
    (only === text && others.length === 0) || JSON.stringify(json.jsonIn(text)) === written;
  return isRepeated ? text : `${text}\n${written}`.trim();
}

const UNKNOWN_TOOL = /-32602|unknown tool/i;
