import { strictJson } from "../../value/strict-json.ts";

/** Responds with JSON that the AI SDK's clients accept. */
export function strictResponse(body: object): Response {
  return new Response(strictJson(body), { headers: { "content-type": "application/json" } });
}
