import {
  type ClientCapabilities,
  getSupportedElicitationModes,
  type InputRequest,
  type InputResponse,
  type LoggingLevel,
  type LoggingMessageNotificationParams,
  type Progress,
  RELATED_TASK_META_KEY,
} from "@modelcontextprotocol/client";
import type { ServerContext } from "@modelcontextprotocol/server";
import { json, strictestVisibility, type metadata } from "../../../src/internal.ts";
import * as limits from "./gateway-limits.ts";

/** The client of one call, for the server that runs it. */
export interface ClientOfCall {
  readonly signal: AbortSignal;
  /** The client's `_meta`, without what is the gateway's own. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly onLog?: ((message: LoggingMessageNotificationParams) => void) | undefined;
  /** Requests a person's answer, a model's answer or the roots. Default: questions stay unanswered. */
  readonly onQuestion?: AskClient | undefined;
  /** Lines of the log from this level on. Default: the server's own choice. */
  readonly logLevel?: LoggingLevel | undefined;
  /** Visibility of the server's messages about the call. Default: the model too. */
  readonly visibility?: metadata.Visibility;
}

/**
 * Returns the client of a call whose values no model may see: signs of progress arrive, without the server's
 * words and numbers.
 */
export function guardedClient(client: ClientOfCall, visibility: metadata.Visibility): ClientOfCall {
  const { onProgress } = client;
  if (visibility === "model") return client;
  let progress = 0;
  return {
    ...client,
    visibility,
    onLog: undefined,
    onProgress: onProgress && (() => onProgress({ progress: ++progress })),
  };
}

/** Time limit and signal of a call. `redact` removes secrets from progress messages. */
export function timingOf({ signal, onProgress }: Waiting, redact: (text: string) => string) {
  const timing = { timeout: limits.gatewayCallMs, resetTimeoutOnProgress: true };
  if (onProgress === undefined) return { signal, ...timing };
  const onprogress = ({ message, ...progress }: Progress) => {
    onProgress(message !== undefined ? { ...progress, message: redact(message) } : progress);
  };
  return { signal, ...timing, onprogress };
}

export type Waiting = Pick<ClientOfCall, "signal" | "onProgress" | "meta">;

/** Returns what a server may know of the client's request, whose progress token is another one there. */
export function waitingOf({ mcpReq }: ServerContext): Waiting {
  const { progressToken, [RELATED_TASK_META_KEY]: _task, ...given } = mcpReq._meta ?? {};
  const entries = Object.entries(given).filter(([key]) => !key.startsWith("byref/"));
  const meta = entries.length === 0 ? undefined : Object.fromEntries(entries);
  const waiting = { signal: mcpReq.signal, meta };
  if (progressToken === undefined) return waiting;
  return {
    ...waiting,
    onProgress: (progress) => {
      const params = { ...progress, progressToken };
      void mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
    },
  };
}

/** Returns the answer of the question's kind. Rejects if there is none. */
export type AskClient = (question: InputRequest) => Promise<InputResponse>;

/** Requests that a server can send to a client, by the capability that allows them. */
export const QUESTIONS = {
  elicitation: "elicitation/create",
  sampling: "sampling/createMessage",
  roots: "roots/list",
} as const;

/** True if the client declares that it answers such questions. */
export function answers(declared: ClientCapabilities, question: InputRequest): boolean {
  if (question.method === QUESTIONS.elicitation) {
    const { form, url } = modesOf(declared);
    return (question.params.mode === "url" ? url : form) !== undefined;
  }
  const others = ["sampling", "roots"] as const;
  return others.some((one) => QUESTIONS[one] === question.method && declared[one] !== undefined);
}

/** Returns the modes of elicitation. Clients that declare none support forms, the first mode. */
export function modesOf({
  elicitation,
}: ClientCapabilities): NonNullable<ClientCapabilities["elicitation"]> {
  const { supportsFormMode, supportsUrlMode } = getSupportedElicitationModes(elicitation);
  return { ...(supportsFormMode && { form: {} }), ...(supportsUrlMode && { url: {} }) };
}

/** Returns what a client declares, without what is no object: servers would refuse the gateway for it. */
export function capabilitiesIn(declared: unknown): ClientCapabilities {
  const { sampling, ...others } = objectsIn(declared);
  return { ...others, ...(sampling && { sampling: objectsIn(sampling) }) };
}

function objectsIn(value: unknown): Readonly<Record<string, object>> {
  const entries = Object.entries(json.isObject(value) ? value : {});
  return Object.fromEntries(entries.filter(([, inner]) => json.isObject(inner))) as Record<
    string,
    object
  >;
}

/** The program that uses the gateway; over HTTP, all such programs together. */
export class ClientOfGateway {
  #declared: ClientCapabilities = {};
  logLevel: LoggingLevel | undefined;
  /** Asks a connected client for its roots when no call runs. */
  listRoots: (() => Promise<InputResponse>) | undefined;

  /** The capabilities declared to servers that are connected from now on. */
  get capabilities(): ClientCapabilities {
    const { elicitation, sampling, roots } = this.#declared;
    return {
      ...(elicitation && { elicitation }),
      ...(sampling && { sampling }),
      ...(roots && { roots: { listChanged: true } }),
    };
  }

  declare(capabilities: ClientCapabilities): void {
    const { elicitation, sampling, roots } = capabilities;
    const modes = { ...modesOf(this.#declared), ...modesOf(capabilities) };
    this.#declared = {
      ...this.#declared,
      ...(elicitation && { elicitation: modes }),
      ...(sampling && { sampling }),
      ...(roots && { roots }),
    };
  }
}

/**
 * The clients of a server's running calls. A server's question or log line does not name its call, so it is
 * attributed to the newest call, and is as guarded as the most guarded call.
 */
export class CallingClients {
  readonly #server: string;
  #clients: readonly ClientOfCall[] = [];

  constructor(server: string) {
    this.#server = server;
  }

  get visibility(): metadata.Visibility {
    return strictestVisibility(this.#clients.map(({ visibility = "model" }) => visibility));
  }

  async during<Result>(client: ClientOfCall, run: () => Promise<Result>): Promise<Result> {
    this.#clients = [...this.#clients, client];
    try {
      return await run();
    } finally {
      this.#clients = this.#clients.filter((one) => one !== client);
    }
  }

  /** Passes a line of the server's log on, unless it may have guarded values. */
  log(line: LoggingMessageNotificationParams): void {
    if (this.visibility === "model") this.#clients.at(-1)?.onLog?.(line);
  }

  /**
   * Sends the question to the newest call's client, or to `outside` if no call runs. Rejects if neither can answer,
   * or if they must not see the call's values.
   */
  async ask(
    question: InputRequest,
    outside?: () => Promise<InputResponse>,
  ): Promise<InputResponse> {
    const client = this.#clients.at(-1);
    if (!maySee(question, this.visibility)) throw new Error("The call has guarded values.");
    const asked =
      client === undefined ? outside?.() : client.onQuestion?.(attributed(question, this.#server));
    if (asked === undefined) throw new Error("There is nobody to ask.");
    return asked;
  }
}

/** A sampled model must not see guarded values, a person no secrets. */
function maySee({ method }: InputRequest, visibility: metadata.Visibility): boolean {
  if (method === QUESTIONS.sampling) return visibility === "model";
  return method === QUESTIONS.roots || visibility !== "secret";
}

/** Names the server in its question, because a person or a model would otherwise attribute it to the gateway. */
function attributed(question: InputRequest, server: string): InputRequest {
  const asks = `The MCP server "${server}" asks:`;
  switch (question.method) {
    case QUESTIONS.elicitation: {
      const { params } = question;
      return { ...question, params: { ...params, message: `${asks}\n\n${params.message}` } };
    }
    case QUESTIONS.sampling: {
      // A client would take the servers for the gateway's own.
      const { includeContext: _context, systemPrompt, ...params } = question.params;
      const prompt = systemPrompt === undefined ? asks : `${asks}\n\n${systemPrompt}`;
      return { ...question, params: { ...params, systemPrompt: prompt } };
    }
    default:
      return question;
  }
}
