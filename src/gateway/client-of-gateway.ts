import type {
  ClientCapabilities,
  InputRequest,
  InputResponse,
  LoggingLevel,
  LoggingMessageNotificationParams,
  Progress,
} from "@modelcontextprotocol/server";

import * as limits from "./gateway-limits.ts";

/** The client of one call, for the server that runs it. */
export interface ClientOfCall {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Receives a line of the server's log. */
  readonly onLog?: ((message: LoggingMessageNotificationParams) => void) | undefined;
  /** Asks for a person's answer, a model's, or the roots. Default: nobody answers. */
  readonly onQuestion?: AskClient | undefined;
  /** True if what the server says meanwhile could reveal a sealed value. */
  readonly isGuarded?: boolean | undefined;
  /** Lines of the log from this level on. Default: the server's own choice. */
  readonly logLevel?: LoggingLevel | undefined;
}

/** How long a server has for a call, and what may end it. `redact` takes secrets out of what it says meanwhile. */
export function timingOf(
  { signal, onProgress, isGuarded }: Waiting,
  redact: (text: string) => string,
) {
  const timing = { timeout: limits.gatewayCallMs, resetTimeoutOnProgress: true };
  if (onProgress === undefined) return { signal, ...timing };
  const onprogress = ({ message, ...progress }: Progress) => {
    const isShown = message !== undefined && isGuarded !== true;
    onProgress(isShown ? { ...progress, message: redact(message) } : progress);
  };
  return { signal, ...timing, onprogress };
}

/** Who waits for the answer of a request. */
export type Waiting = Pick<ClientOfCall, "signal" | "onProgress" | "isGuarded">;

/** Returns the answer of the question's kind. Rejects if there is none. */
export type AskClient = (question: InputRequest) => Promise<InputResponse>;

/** What a server can ask a client for, by the capability that the client declares. */
export const QUESTIONS = {
  elicitation: "elicitation/create",
  sampling: "sampling/createMessage",
  roots: "roots/list",
} as const;

type Capability = keyof typeof QUESTIONS;

const CAPABILITIES = Object.keys(QUESTIONS) as readonly Capability[];

/** True if the client says that it answers such questions. */
export function answers(declared: ClientCapabilities, method: InputRequest["method"]): boolean {
  return CAPABILITIES.some((one) => QUESTIONS[one] === method && declared[one] !== undefined);
}

/** The program that uses the gateway; over HTTP, all that do. */
export class ClientOfGateway {
  #declared: ClientCapabilities = {};
  /** The level that was set last. */
  logLevel: LoggingLevel | undefined;
  /** Asks a connected client for its roots when no call runs. */
  listRoots: (() => Promise<InputResponse>) | undefined;

  /** What servers that are connected from now on are told. */
  get capabilities(): ClientCapabilities {
    const { elicitation, sampling, roots } = this.#declared;
    return {
      ...(elicitation && { elicitation: { form: {}, url: {} } }),
      ...(sampling && { sampling }),
      ...(roots && { roots: { listChanged: true } }),
    };
  }

  /** Adds to what servers are told. */
  declare(capabilities: ClientCapabilities): void {
    for (const one of CAPABILITIES) {
      if (capabilities[one] !== undefined) {
        this.#declared = { ...this.#declared, [one]: capabilities[one] };
      }
    }
  }
}
