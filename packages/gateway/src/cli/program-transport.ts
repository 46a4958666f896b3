import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { type Stream, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { type JSONRPCMessage, ReadBuffer, parseJSONRPCMessage } from "@modelcontextprotocol/client";
import {
  StdioClientTransport,
  type StdioServerParameters,
  getDefaultEnvironment,
} from "@modelcontextprotocol/client/stdio";
import { ByrefError } from "../../../../src/errors.ts";
import { withoutMark } from "../configuration.ts";
import * as limits from "../gateway-limits.ts";
import { inPlaceOf, messageIn } from "../servers/mcp-fetch.ts";
import { StringDecoder } from "node:string_decoder";

/**
 * The library starts a program twice, first only to get its version, if the transport has the class of the library.
 * A subclass avoids this.
 */
export class ProgramTransport extends StdioClientTransport {
  readonly #server: StdioServerParameters;
  readonly #buffer = new MessageBuffer();
  #closing: Promise<void> | undefined;

  constructor(server: StdioServerParameters) {
    super(server);
    this.#server = server;
    Reflect.set(this, "_readBuffer", this.#buffer);
  }

  /** Rejects with the folder if there is none: Node's error names the program. */
  override async start(): Promise<void> {
    const { cwd } = this.#server;
    if (cwd !== undefined && !statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
      throw new Error(`Its "cwd" is no folder: ${cwd}`);
    await (HAS_GROUPS ? this.#startGroup() : super.start());
  }

  /**
   * Ends the input, then the program and what it has started, if they ignore that. Resolves when they have ended,
   * also if it is called again.
   */
  override close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const { pid } = this;
    // The output ends with the last program that can write to it.
    const ended = super.close().then(() => true);
    const isEnded = (ms: number) => Promise.race([ended, pause(ms, false, { ref: false })]);
    if (pid === null || (await isEnded(limits.programEndMs))) return;
    signalGroup(pid, "SIGTERM");
    if (await isEnded(limits.programStopMs)) return;
    signalGroup(pid, "SIGKILL");
    await isEnded(limits.programStopMs);
  }

  /** Starts the program as the leader of a process group. The library has no option for that. */
  async #startGroup(): Promise<void> {
    const { command, args = [], env, cwd } = this.#server;
    const options = {
      env: { ...getDefaultEnvironment(), ...env },
      ...(cwd !== undefined && { cwd }),
    };
    const program = spawn(command, args, { ...options, stdio: "pipe", detached: true });
    // The library writes to it and ends its input.
    Reflect.set(this, "_process", program);
    const { pid } = program;
    if (pid !== undefined) groups.add(pid);
    const report = (error: Error) => this.onerror?.(error);
    program.stdin.on("error", report);
    program.stdout.on("error", report).on("data", (chunk: Buffer) => this.#read(chunk));
    if (this.stderr instanceof Writable) program.stderr.pipe(this.stderr);
    program.on("close", () => {
      if (pid !== undefined) groups.delete(pid);
      Reflect.set(this, "_process", undefined);
      this.onclose?.();
    });
    await once(program, "spawn");
    program.on("error", report);
  }

  #read(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      this.#report(error);
      void this.close();
    }
    for (let isLast = false; !isLast;) {
      try {
        const message = this.#buffer.readMessage();
        isLast = message === null;
        if (message !== null) this.onmessage?.(message);
      } catch (error) {
        this.#report(error);
      }
    }
  }

  #report(error: unknown): void {
    if (error instanceof Error) this.onerror?.(error);
  }
}

const HAS_GROUPS = process.platform !== "win32";

const groups = new Set<number>();

// Whatever ends this process.
process.once("exit", () => {
  for (const pid of groups) signalGroup(pid, "SIGKILL");
});

/** On Windows, which has no groups, the program and its descendants are ended at once. */
function signalGroup(pid: number, signal: NodeJS.Signals): void {
  if (!HAS_GROUPS) {
    spawnSync("taskkill", ["/PID", String(pid), "/T", "/F"], { windowsHide: true });
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
}

/**
 * Lets a transport of the library read a message of megabytes in linear time. The library copies what it has of a
 * message with each chunk: 20 s for 50 MB. It has no option for its buffer.
 */
export function readLongMessages(transport: object): void {
  Reflect.set(transport, "_readBuffer", new MessageBuffer());
}

/**
 * Holds the chunks of a message until its last one. An answer that does not follow the protocol is read as an error: the
 * library ignores it, and waits.
 */
export class MessageBuffer extends ReadBuffer {
  #held: Buffer[] = [];
  #bytes = 0;
  #lines = Buffer.alloc(0);

  /** Throws `limit_exceeded` for a message of more than `maxGatewayMessageBytes`. */
  override append(chunk: Buffer): void {
    const end = chunk.indexOf("\n");
    this.#bytes += end < 0 ? chunk.length : end;
    if (this.#bytes > limits.maxGatewayMessageBytes) {
      this.clear();
      throw new ByrefError("limit_exceeded", TOO_LONG);
    }
    if (end < 0) return void this.#held.push(chunk);
    const last = chunk.lastIndexOf("\n") + 1;
    this.#lines = Buffer.concat([this.#lines, ...this.#held, chunk.subarray(0, last)]);
    this.#held = [chunk.subarray(last)];
    this.#bytes = chunk.length - last;
  }

  /** Skips what is no JSON. Throws for a message that the protocol does not have. */
  override readMessage(): JSONRPCMessage | null {
    for (let end = this.#lines.indexOf("\n"); end >= 0; end = this.#lines.indexOf("\n")) {
      // Programs on Windows begin with a byte order mark.
      const message = messageIn(withoutMark(this.#lines.toString("utf8", 0, end)));
      this.#lines = this.#lines.subarray(end + 1);
      if (message !== undefined) return inPlaceOf(message) ?? parsed(message);
    }
    return null;
  }

  override clear(): void {
    this.#held = [];
    this.#bytes = 0;
    this.#lines = Buffer.alloc(0);
  }
}

function parsed(message: unknown): JSONRPCMessage {
  try {
    return parseJSONRPCMessage(message);
  } catch {
    throw new Error("A message does not follow MCP.");
  }
}

const TOO_LONG = `A message has more than ${limits.maxGatewayMessageBytes} bytes; ask for less.`;

/** Longer lines are not held. */
const MAX_LINE_CHARS = 16_384;
const LONG_LINE = `(a line of more than ${MAX_LINE_CHARS} characters)`;

/** Calls `onLine` for each line that is not empty. A line that is too long is replaced as a whole. */
export function readLines(stream: Stream, onLine: (line: string) => void): void {
  const decoder = new StringDecoder("utf8");
  let held = "";
  let isTooLong = false;
  const end = () => {
    if (isTooLong) onLine(LONG_LINE);
    else if (held !== "") onLine(held);
    held = "";
    isTooLong = false;
  };
  stream.on("data", (chunk: Buffer) => {
    const [first = "", ...others] = decoder.write(chunk).split(/\r?\n/u);
    add(first);
    for (const part of others) {
      end();
      add(part);
    }
  });
  stream.on("end", end);

  function add(text: string): void {
    isTooLong ||= held.length + text.length > MAX_LINE_CHARS;
    held = isTooLong ? "" : held + text;
  }
}
