/** Copies a response from `fetch`, because its own headers are immutable. */
export function mutableResponse(response: Response): Response {
  return new Response(response.body, response);
}
