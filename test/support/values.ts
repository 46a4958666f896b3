import { call } from "./edge.ts";

export const NDJSON = "application/x-ndjson";
export const TEXT = "text/plain";

interface Sent {
  readonly body: BodyInit;
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Puts bytes with this media type; `at` is the name, optionally with a query. */
export function putAs(id: string, at: string, { body, type, headers }: Sent): Promise<Response> {
  const init = { body, headers: { "content-type": type, ...headers } };
  return call("PUT", `/conversations/${id}/variables/${at}`, init);
}

export function getWith(
  id: string,
  at: string,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  return call("GET", `/conversations/${id}/variables/${at}`, { headers });
}

export async function bytesOf(response: Response): Promise<readonly number[]> {
  return [...new Uint8Array(await response.arrayBuffer())];
}

/** Returns bytes that are not valid text and include every value, repeatedly. */
export function anyBytes(length: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, index) => (index * 7 + (index >> 8)) % 256);
}
