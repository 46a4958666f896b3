import {
  type Client,
  type ConnectOptions,
  isSpecType,
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  specTypeSchemas,
  type Transport,
} from "@modelcontextprotocol/client";
import { characters, json, withTimeLimit } from "../../../src/internal.ts";
import { isUnreachable, reasonOf } from "./server-errors.ts";
import * as limits from "./gateway-limits.ts";

interface Attempts {
  /** Returns a new transport to the server for each attempt; `"sse"` is that of 2024-11-05. */
  readonly open: (kind?: "sse") => Transport;
  readonly isProgram: boolean;
  /** True for a server with the transport of 2024-11-05, which knows no newer version. */
  readonly isSse?: boolean;
  /** Aborted when the server is given up: no other attempt is made. */
  readonly signal: AbortSignal;
}

/** Connects a client to a server. Rejects with a sentence that says why that failed. */
export async function connectTo(
  client: Client,
  { open, isProgram, isSse = false, signal }: Attempts,
): Promise<void> {
  const startMs = Date.now();
  let transport: Transport | undefined;
  const connect = (options: ConnectOptions, kind?: "sse") =>
    client.connect((transport = open(kind)), options);
  // The library waits for the stream without a limit.
  const connectBySse = () => withTimeLimit(limits.gatewayConnectMs, () => connect(OLD, "sse"));
  const end = async () => transport?.close().catch(() => undefined);
  try {
    if (isSse) return await connectBySse();
    await connect(TIMING)
      .catch(async (error: unknown) => {
        // An old server may fail at the request for its version. It is then asked again without that request. A network
        // error says nothing about whether the server has understood the request.
        const isRefused = error instanceof SdkError && REFUSALS.has(error.code);
        const isUndecided = isRefused && (isProgram || !isUnreachable(error.cause));
        if (!isUndecided || signal.aborted) throw error;
        await connect(OLD);
      })
      .catch(async (error: unknown) => {
        // A server that refuses a message at its address may have the transport of 2024-11-05, as the protocol says.
        if (isProgram || !isRefusal(error) || signal.aborted) throw error;
        await end();
        // The first reason is that of the transport that the server should have.
        await connectBySse().catch(() => {
          throw error;
        });
      });
  } catch (error) {
    void end();
    throw new Error(reasonFor(error), { cause: error });
  }

  function reasonFor(error: unknown): string {
    if (signal.aborted) return "The connection was ended before the server answered.";
    const isEnded = error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed;
    return isEnded && isProgram
      ? "Its program ended without an answer; what it wrote is in the gateway's log."
      : reasonOf(error, Date.now() - startMs);
  }
}

const TIMING = { timeout: limits.gatewayGreetingMs };
const OLD = { ...TIMING, prior: { kind: "legacy" } } as const;

/** True for a response that refuses the method or the message, and not the client. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  return error.status >= 400 && error.status < 500 && !OF_CLIENT.has(error.status);
}

/** Not signed in, not allowed, too many requests. */
const OF_CLIENT: ReadonlySet<number> = new Set([401, 403, 429]);

/** Servers refuse what they do not know also with 401 or 403, whatever the headers. */
const REFUSALS: ReadonlySet<SdkErrorCode> = new Set([
  SdkErrorCode.EraNegotiationFailed,
  SdkErrorCode.ClientHttpAuthentication,
  SdkErrorCode.ClientHttpForbidden,
]);

/** An item of a server's list that is not offered. */
export interface LeftOut {
  readonly kind: "tool" | "prompt" | "resource" | "template";
  /** Its name or address, or its place in the list. */
  readonly name: string;
  readonly why: string;
}

interface List {
  readonly kind: LeftOut["kind"];
  readonly key: string;
  readonly type: "Tool" | "Prompt" | "Resource" | "ResourceTemplate";
}

const LISTS: Readonly<Record<string, List>> = {
  "tools/list": { kind: "tool", key: "tools", type: "Tool" },
  "prompts/list": { kind: "prompt", key: "prompts", type: "Prompt" },
  "resources/list": { kind: "resource", key: "resources", type: "Resource" },
  "resources/templates/list": {
    kind: "template",
    key: "resourceTemplates",
    type: "ResourceTemplate",
  },
};

/** Takes items out of a server's lists that the library would refuse together with all others of the list. */
export function listSieve(onLeftOut: (item: LeftOut) => void) {
  const all = new Map<string, LeftOut>();
  return { leftOut: () => [...all.values()], leaveOut, sift };

  /** Adds an item, which stays until the list is requested again. */
  function leaveOut({ kind, name: written, why }: LeftOut): void {
    const name = characters.clip(written, limits.maxGatewayNameChars);
    const item = { kind, name, why };
    all.set(`${kind} ${name}`, item);
    onLeftOut(item);
  }

  /** Returns the transport, which the library has not yet opened. */
  function sift(transport: Transport): Transport {
    const asked = new Map<unknown, List>();
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      const list = "method" in message ? LISTS[message.method] : undefined;
      if (list !== undefined && "method" in message && "id" in message) {
        asked.set(message.id, list);
        const isFirst = message.params?.cursor === undefined;
        for (const [key, { kind }] of all) if (isFirst && kind === list.kind) all.delete(key);
      }
      return send(message, options);
    };
    // The library calls this handler before it reads the message.
    transport.onmessage = (message: JSONRPCMessage) => {
      if (!("result" in message)) return;
      const list = asked.get(message.id);
      asked.delete(message.id);
      if (list !== undefined) message.result = sifted(message.result, list);
    };
    return transport;
  }

  function sifted<Result extends object>(result: Result, list: List): Result {
    const { [list.key]: items, nextCursor } = result as Readonly<Record<string, unknown>>;
    if (!Array.isArray(items)) return result;
    const kept = items.map(withoutOutput).filter((item, index) => {
      const why = refusalOf(item, list);
      if (why !== undefined) leaveOut({ kind: list.kind, name: nameOf(item, index), why });
      return why === undefined;
    });
    // Some servers end a list with null or an empty text.
    const isEnd = nextCursor === null || nextCursor === "";
    return { ...result, [list.key]: kept, ...(isEnd && { nextCursor: undefined }) };
  }
}

/** Results are handles, whose form no schema of a server describes. */
function withoutOutput(item: unknown): unknown {
  return json.isObject(item) && "outputSchema" in item
    ? { ...item, outputSchema: undefined }
    : item;
}

function nameOf(item: unknown, index: number): string {
  const { name, uri, uriTemplate } = json.isObject(item) ? item : {};
  const found = [name, uri, uriTemplate].find((one) => typeof one === "string" && one !== "");
  return typeof found === "string" ? found : `number ${index + 1}`;
}

function refusalOf(item: unknown, { type }: List): string | undefined {
  try {
    if (isSpecType[type](item)) return undefined;
  } catch {
    return "It has too many levels.";
  }
  const { issues: [issue] = [] } = specTypeSchemas[type]["~standard"].validate(item);
  return [issue?.path?.join("."), issue?.message].filter(Boolean).join(": ");
}
