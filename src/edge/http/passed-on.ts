/** A response from another place, with headers that can be added to: as it comes it cannot. */
export function passedOn(response: Response): Response {
  return new Response(response.body, response);
}
