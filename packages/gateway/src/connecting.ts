import {
  type Client,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type Transport,
} from "@modelcontextprotocol/client";
import { withTimeLimit } from "../../../src/internal.ts";
import { isUnreachable, reasonOf } from "./server-errors.ts";
import * as limits from "./gateway-limits.ts";

export interface ConnectingOptions {
  /** Returns a new transport to the server for each attempt; `"sse"` is that of 2024-11-05. */
  readonly open: (kind?: "sse") => Transport;
  /** True if the transport starts a program. */
  readonly isProgram: boolean;
  /** True for a server with the transport of 2024-11-05, which knows no newer version. */
  readonly isSse?: boolean;
}

/** The attempts to connect to one server, which can be given up. */
export class Connecting {
  readonly #options: ConnectingOptions;
  readonly #startMs = Date.now();
  #transport: Transport | undefined;
  #isTrying = true;
  #isGivenUp = false;

  constructor(options: ConnectingOptions) {
    this.#options = options;
  }

  /** False when the server is connected, or will not be. */
  get isTrying(): boolean {
    return this.#isTrying;
  }

  async connect(client: Client): Promise<void> {
    try {
      await this.#connect(client);
      this.#transport = undefined;
    } catch (error) {
      void this.#end();
      throw error;
    } finally {
      this.#isTrying = false;
    }
  }

  /**
   * Ends the attempt, and the program if it was started: a program need not end with its input. Does nothing to a
   * server that is connected. Never rejects.
   */
  async giveUp(): Promise<void> {
    this.#isGivenUp ||= this.#isTrying;
    await this.#end();
  }

  /** Says as a sentence why the server could not be reached. */
  reasonOf(error: unknown): string {
    if (this.#isGivenUp) return "The connection was ended before the server answered.";
    const isEnded = error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed;
    return isEnded && this.#options.isProgram
      ? "Its program ended without an answer; what it wrote is in the gateway's log."
      : reasonOf(error, Date.now() - this.#startMs);
  }

  /** A server that refuses a message at its address may have the transport of 2024-11-05, as the protocol says. */
  async #connect(client: Client): Promise<void> {
    if (this.#options.isSse === true) return this.#connectBySse(client);
    try {
      await this.#connectByNewer(client);
    } catch (error) {
      if (this.#options.isProgram || !isRefusal(error) || this.#isGivenUp) throw error;
      await this.#end();
      // The first reason is that of the transport that the server should have.
      await this.#connectBySse(client).catch(() => {
        throw error;
      });
    }
  }

  /** An old server may fail at the request for its version. It is then asked again without that request. */
  async #connectByNewer(client: Client): Promise<void> {
    try {
      await client.connect(this.#opened(), TIMING);
    } catch (error) {
      if (!this.#isUndecided(error) || this.#isGivenUp) throw error;
      await client.connect(this.#opened(), OLD);
    }
  }

  /** The library waits for the stream without a limit. */
  async #connectBySse(client: Client): Promise<void> {
    await withTimeLimit(limits.gatewayConnectMs, () => client.connect(this.#opened("sse"), OLD));
  }

  /** True if the server refused or did not understand the request; a network error says nothing about it. */
  #isUndecided(error: unknown): boolean {
    if (!(error instanceof SdkError) || !REFUSALS.has(error.code)) return false;
    return this.#options.isProgram || !isUnreachable(error.cause);
  }

  async #end(): Promise<void> {
    await this.#transport?.close().catch(() => undefined);
  }

  #opened(kind?: "sse"): Transport {
    this.#transport = this.#options.open(kind);
    return this.#transport;
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
