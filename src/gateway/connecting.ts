import { type Client, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import type { Transport } from "@modelcontextprotocol/client";
import { reasonOf } from "./connection-loss.ts";
import * as limits from "./gateway-limits.ts";

export interface ConnectingOptions {
  /** Returns a new transport to the server for each attempt. */
  readonly open: () => Transport;
  /** True if the transport starts a program. */
  readonly isProgram: boolean;
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

  /** An old program may end at the request for its version. It is then started again without that request. */
  async #connect(client: Client): Promise<void> {
    const timing = { timeout: limits.gatewayGreetingMs };
    try {
      await client.connect(this.#opened(), timing);
    } catch (error) {
      const isUndecided =
        error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
      if (!isUndecided || !this.#options.isProgram || this.#isGivenUp) throw error;
      const prior = { kind: "legacy" } as const;
      await client.connect(this.#opened(), { ...timing, prior });
    }
  }

  async #end(): Promise<void> {
    await this.#transport?.close().catch(() => undefined);
  }

  #opened(): Transport {
    this.#transport = this.#options.open();
    return this.#transport;
  }
}
