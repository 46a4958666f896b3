import { ReadBuffer } from "@modelcontextprotocol/client";
import {
  StdioClientTransport,
  type StdioServerParameters,
} from "@modelcontextprotocol/client/stdio";
import { ByrefError } from "../errors.ts";
import * as limits from "../gateway/gateway-limits.ts";

/**
 * The library starts a program twice, first only to get its version, if the transport has the class of the library.
 * A subclass avoids this.
 */
export class ProgramTransport extends StdioClientTransport {
  #closing: Promise<void> | undefined;

  constructor(server: StdioServerParameters) {
    super(server);
    readLongMessages(this);
  }

  /** Resolves when the program has ended, also if it is called again. */
  override close(): Promise<void> {
    this.#closing ??= super.close();
    return this.#closing;
  }
}

/**
 * Lets a transport of the library read a message of megabytes in linear time. The library copies what it has of a
 * message with each chunk: 20 s for 50 MB. It has no option for its buffer.
 */
export function readLongMessages(transport: object): void {
  Reflect.set(transport, "_readBuffer", new MessageBuffer());
}

/** Holds the chunks of a message until its last one. */
export class MessageBuffer extends ReadBuffer {
  #held: Buffer[] = [];
  #bytes = 0;

  constructor() {
    super({ maxBufferSize: Infinity });
  }

  /** Throws `limit_exceeded` for a message of more than `maxGatewayMessageBytes`. */
  override append(chunk: Buffer): void {
    const end = chunk.indexOf("\n");
    this.#bytes += end < 0 ? chunk.length : end;
    if (this.#bytes > limits.maxGatewayMessageBytes) {
      this.clear();
      throw new ByrefError("limit_exceeded", TOO_LONG);
    }
    this.#held.push(chunk);
    if (end < 0) return;
    super.append(Buffer.concat(this.#held));
    this.#held = [];
    this.#bytes = chunk.length - 1 - chunk.lastIndexOf("\n");
  }

  override clear(): void {
    this.#held = [];
    this.#bytes = 0;
    super.clear();
  }
}

const TOO_LONG = `A message has more than ${limits.maxGatewayMessageBytes} bytes; ask for less.`;
