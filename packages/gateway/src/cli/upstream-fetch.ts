import {
  bounded,
  type BoundedOptions,
  EventReader,
  eventSize,
  fetchWithin,
  idOf,
  isEventStream,
  readAnswer,
} from "../../../mcp/src/bounded-fetch.ts";

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
  // The client would wait for the answer that it cannot resume.
  const isResuming = new Headers(init.headers).has("last-event-id");
  if (status === 405 && isResuming) return new Response(null, { status: 410 });
  if (body === null) return response;
  // The body is already decoded.
  const headers = new Headers(response.headers);
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  const id = idOf(init.body);
  const isAnswer = response.ok && id !== undefined && headers.get("content-type")?.includes("json");
  const read = isAnswer ? await readAnswer(body, id) : bounded(body, optionsFor(response, init));
  return new Response(read, { status, statusText, headers });
}

function optionsFor(response: Response, { method, body }: RequestInit): BoundedOptions {
  if (!isEventStream(response)) return {};
  const id = idOf(body);
  const events = new EventReader(true, id);
  return method === "GET" ? { events, size: eventSize() } : { events, id };
}
