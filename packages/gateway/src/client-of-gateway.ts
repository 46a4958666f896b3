import type {
  ClientCapabilities,
  InputRequest,
  InputResponse,
  LoggingLevel,
  LoggingMessageNotificationParams,
  Progress,
  ServerContext,
} from "@modelcontextprotocol/server";

import { RELATED_TASK_META_KEY } from "@modelcontextprotocol/server";
import type { Visibility } from "../../../src/internal.ts";
import * as limits from "./gateway-limits.ts";

/** The client of one call, for the server that runs it. */
export interface ClientOfCall {
  readonly signal: AbortSignal;
  /** The client's `_meta`, without what is the gateway's own. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Receives a line of the server's log. */
  readonly onLog?: ((message: LoggingMessageNotificationParams) => void) | undefined;
  /** Requests a person's answer, a model's answer or the roots. Default: questions stay unanswered. */
  readonly onQuestion?: AskClient | undefined;
  /** Lines of the log from this level on. Default: the server's own choice. */
  readonly logLevel?: LoggingLevel | undefined;
  /** Visibility of the server's messages about the call. Default: the model too. */
  readonly visibility?: Visibility;
}

/**
 * Returns the client of a call whose values no model may see: signs of progress arrive, without the server's
 * words and numbers.
 */
export function guardedClient(client: ClientOfCall, visibility: Visibility): ClientOfCall {
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

/** A pending request of the client. */
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

type Capability = keyof typeof QUESTIONS;

const CAPABILITIES = Object.keys(QUESTIONS) as readonly Capability[];

/** True if the client declares that it answers such questions. */
export function answers(declared: ClientCapabilities, question: InputRequest): boolean {
  if (question.method === QUESTIONS.elicitation) {
    const { form, url } = modesOf(declared);
    return (question.params.mode === "url" ? url : form) !== undefined;
  }
  return CAPABILITIES.some(
    (one) => QUESTIONS[one] === question.method && declared[one] !== undefined,
  );
}

/** Returns the modes of elicitation. Clients that declare none support forms, the first mode. */
export function modesOf({ elicitation }: ClientCapabilities): {
  readonly form?: Empty;
  readonly url?: Empty;
} {
  if (elicitation === undefined) return {};
  const hasUrl = "url" in elicitation && elicitation.url !== undefined;
  const hasForm = !hasUrl || elicitation.form !== undefined;
  return { ...(hasForm && { form: {} }), ...(hasUrl && { url: {} }) };
}

type Empty = Readonly<Record<string, never>>;

/** The program that uses the gateway; over HTTP, all such programs together. */
export class ClientOfGateway {
  #declared: ClientCapabilities = {};
  /** The level that was set last. */
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

  /** Adds to the capabilities that are declared to servers. */
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
