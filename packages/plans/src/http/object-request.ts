import { ByrefError, codeIn } from "../../../../src/errors.ts";
import { identityHeader } from "../../../../src/internal-edge.ts";
import { json } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";
import type { Identity } from "../../../../src/runtime.ts";

export interface ObjectRequest {
  readonly method?: "GET" | "POST";
  readonly asker: Identity;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What an object has refused, which another try would not change. */
export class Refusal extends ByrefError {}

/** Asks another object of the tenant, which answers in JSON. Throws what it refuses as a `Refusal`. */
export async function askObject(
  object: { fetch(url: string, init: RequestInit): Promise<Response> },
  path: string,
  { method = "POST", asker, body, headers = {} }: ObjectRequest,
): Promise<Json> {
  const [name, value] = identityHeader(asker);
  const type = { accept: "application/json", "content-type": "application/json" };
  const response = await object.fetch(`https://object${path}`, {
    method,
    headers: { ...type, ...headers, [name]: value },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const answer = json.parsedJson(await response.text());
  if (response.ok) return answer;
  const { type: _1, title: _2, status: _3, instance: _4, ...problem } = answer as json.JsonObject;
  const { code, detail, ...details } = problem;
  throw new Refusal(codeIn(`${String(code)}:`), String(detail), details);
}
