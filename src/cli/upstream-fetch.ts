import {
  bounded,
  type BoundedOptions,
  eventSize,
  fetchWithin,
  idOf,
  isEventStream,
} from "../tool/mcp/bounded-fetch.ts";

/**
 * The `fetch` of the gateway's clients outside of Workers. It follows redirects within the origin only, because
 * headers hold keys, and limits the size of responses; of a stream that a GET opens, which has no end, that of each
 * message.
 */
export async function upstreamFetch(
  input: string | URL,
  init: RequestInit = {},
): Promise<Response> {
  const response = await fetchWithin(new URL(input), init);
  const { body, status, statusText } = response;
  if (body === null) return response;
  // The body is already decoded.
  const headers = new Headers(response.headers);
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  return new Response(bounded(body, optionsFor(response, init)), { status, statusText, headers });
}

function optionsFor(response: Response, { method, body }: RequestInit): BoundedOptions {
  if (!isEventStream(response)) return {};
  return method === "GET" ? { size: eventSize() } : { when: "too long", id: idOf(body) };
}
