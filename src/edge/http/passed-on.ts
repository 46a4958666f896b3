/** Copies a response from `fetch`, because its own headers are immutable. */
export function passedOn(response: Response): Response {
  return new Response(response.body, response);
}
