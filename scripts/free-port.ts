import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the range of ephemeral ports, which the system could assign before the server listens. */
const FIRST_PORT = 10_000;
const END_OF_PORTS = 32_768;

/** Rejects if another server uses the port, because that would respond instead. */
export async function requireFree(port: number, ip: string): Promise<void> {
  try {
    await using server = createServer().listen(port, ip);
    await once(server, "listening");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason = code === "EADDRINUSE" ? "it is in use" : message;
    throw new Error(`Port ${port} cannot be used: ${reason}. Set PORT to another one.`, { cause });
  }
}

/** Finds a free port on the loopback address. */
export async function freePort(): Promise<number> {
  const port = randomInt(FIRST_PORT, END_OF_PORTS);
  return requireFree(port, "127.0.0.1").then(() => port, freePort);
}
