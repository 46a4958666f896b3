import { never } from "./fault-steps.ts";

/** JSON of more levels than a value may have. */
export const DEEP = "[".repeat(300) + "]".repeat(300);

/** Returns a function that throws `thrown`. */
export function throwing(thrown: unknown): () => never {
  return () => {
    throw thrown;
  };
}

export function cyclic(): unknown {
  const value: Record<string, unknown> = {};
  value.self = [value];
  return value;
}

/** Throws on every access, except that a promise can see that it is not a thenable. */
export function closedProxy(): object {
  const closed = throwing(new Error("Closed."));
  const traps = ["get", "has", "ownKeys", "getPrototypeOf", "getOwnPropertyDescriptor"];
  const handler = Object.fromEntries(traps.map((trap) => [trap, closed]));
  return new Proxy({}, { ...handler, get: (_, key) => (key === "then" ? undefined : closed()) });
}

export function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** An object that promises treat as a promise. */
export function thenable(then: () => unknown): object {
  return Object.fromEntries(new Map().set("then", then));
}

export function detached(): Uint8Array {
  const bytes = new Uint8Array(8);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

/** An error whose `message` getter throws. */
export function mute(): unknown {
  return Object.defineProperty(new Error("No."), "message", { get: throwing("No message.") });
}

export function breakingStream(): ReadableStream<Uint8Array> {
  let pulls = 0;
  return new ReadableStream({
    pull(controller) {
      if (pulls++ > 2) throw new TypeError("terminated");
      controller.enqueue(new Uint8Array(100_000));
    },
  });
}

export function hangingStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array([91])),
    pull: never,
  });
}

export function lockedStream(): ReadableStream<Uint8Array> {
  const stream = new Blob(["ab"]).stream();
  stream.getReader();
  return stream;
}

/** Returns a response with the JSON content type. */
export function answering(body: BodyInit): Response {
  return new Response(body, { headers: { "content-type": "application/json" } });
}

export async function readResponse(): Promise<Response> {
  const response = answering("[]");
  await response.text();
  return response;
}

/** Yields one result, then the result of `next`. */
export async function* yielding(next: () => unknown): AsyncGenerator<unknown> {
  yield 1;
  yield await next();
}

/** Yields results without an end, one per second. */
export async function* unending(): AsyncGenerator<number> {
  for (let n = 0; ; n++) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    yield n;
  }
}
