import { withTimeLimit } from "../../../src/internal.ts";
import { bounded, EventReader, fetchWithin, idOf, isEventStream } from "./bounded-fetch.ts";

/** Time limit for ending a session. */
const DELETE_MS = 2_000;
const MAX_REFUSAL_CHARS = 1_000;

/**
 * The `fetch` of an MCP client in a Worker. It opens no stream that would outlive the turn, follows
 * redirects within the origin only, because headers hold keys, and limits the size of responses. If a stream
 * ends or breaks before its response, it adds an error response, because the client would wait for one.
 */
export const mcpFetch: typeof fetch = async (input: RequestInfo | URL, init: RequestInit = {}) => {
  // A GET would open the stream of the server's own messages, which nothing reads. Servers without that
  // stream answer 405.
  if (init.method === "GET") return new Response(null, { status: 405 });
  const url = new URL(input instanceof Request ? input.url : input);
  const send = (signal = init.signal) => fetchWithin(url, { ...init, ...(signal && { signal }) });
  if (init.method === "DELETE") return withTimeLimit(DELETE_MS, send);
  const response = await send();
  if (response.status === 400 || response.status === 404) return refusal(response);
  if (response.body === null || !response.ok) return response;
  const { status, headers } = response;
  const ending = isEventStream(response)
    ? { id: idOf(init.body), events: new EventReader(false, idOf(init.body)) }
    : {};
  // The body is already decoded, so headers about its encoding are dropped.
  const kept = ["content-type", "mcp-session-id"].flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as [string, string]];
  });
  return new Response(bounded(response.body, ending), { status, headers: kept });
};

/**
 * Converts a refusal to text, so that the client reports the status. As JSON-RPC, the same text would hide
 * it.
 */
async function refusal({ status, body }: Response): Promise<Response> {
  const text = body === null ? "" : await new Response(bounded(body)).text();
  return new Response(`Refused: ${text.slice(0, MAX_REFUSAL_CHARS)}`, { status });
}
