import { expect, it } from "vitest";
import { fileEndpoints } from "../../src/edge/routes/files.ts";
import { apiOf } from "../../src/edge/api.ts";
import type { ErrorCode } from "../../src/errors.ts";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import { queries } from "../../packages/query/src/object/queries.ts";
import { transfers } from "../../packages/transfer/src/transfers.ts";
import { call, newId, ORIGIN, problemIn } from "./edge.ts";

/** `null` for a header that is absent. */
type Headers = Readonly<Record<string, unknown>>;
type Expected = readonly [status: number | ErrorCode, answer?: unknown, headers?: Headers];
/**
 * A request such as `PUT /variables/a` of the row's conversation, with a body or headers if it has some, and what
 * answers it. A body or headers may depend on the ETag of the answer before it. A text or a pattern is compared with the whole answer, bytes with its bytes, all else with its JSON,
 * which may have more members.
 */
export type Exchange =
  | readonly [request: string, ...Expected]
  | readonly [request: string, init: RequestInit | ((etag: string) => RequestInit), ...Expected];

/** Each row is a test, in a conversation of its own: requests that follow one another. */
export function httpCases(rows: Readonly<Record<string, readonly Exchange[]>>): void {
  it.each(Object.entries(rows))("%s", async (_, exchanges) => {
    const id = newId();
    let etag = "";
    for (const exchange of exchanges) etag = (await expectExchange(id, exchange, etag)) ?? etag;
  });
}

/** Returns the ETag of the answer. */
async function expectExchange(id: string, [request, ...rest]: Exchange, etag: string) {
  const [first, ...others] = rest;
  const isPlain = typeof first === "number" || typeof first === "string";
  const [status, answer, headers = {}] = (isPlain ? rest : others) as unknown as Expected;
  const init = isPlain ? {} : typeof first === "function" ? first(etag) : first;
  const [method = "", ...words] = request.split(" ");
  const path = `/conversations/${id}${words.join(" ")}`;
  const response = await call(method, path, init);
  const bytes = await response.clone().bytes();
  if (typeof status === "number") expect([request, response.status]).toEqual([request, status]);
  else expect(await problemIn(response.clone(), status), request).toMatchObject(Object(answer));
  expectDocumented(method, path, { response, text: textOf(bytes) });
  for (const [name, value] of Object.entries(headers))
    expect([request, name, response.headers.get(name)]).toEqual([request, name, value]);
  if (typeof status === "number" && answer !== undefined) expectAnswer(request, answer, bytes);
  return response.headers.get("etag");
}

function expectAnswer(request: string, answer: unknown, bytes: Uint8Array): void {
  const text = textOf(bytes);
  if (answer instanceof Uint8Array) expect(bytes, request).toEqual(answer);
  else if (answer instanceof RegExp) expect(text, request).toMatch(answer);
  else if (typeof answer === "string") expect(text, request).toBe(answer);
  else expect({ [request]: JSON.parse(text) }).toMatchObject({ [request]: answer });
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
}

const api = apiOf({ plans: planSupport(), transfer: transfers, files: fileEndpoints, queries });
const endpoints = [...api.worker, ...api.tenant, ...api.conversation].map((one) => {
  const pattern = one.path.replaceAll(/:\w+\{.+\}/g, ".+").replaceAll(/:\w+/g, "[^/]+");
  return { ...one, pattern: new RegExp(`^${pattern}$`) };
});

type Answer = { readonly response: Response; readonly text: string };

/** The OpenAPI document is made of the same schemas. */
function expectDocumented(method: string, path: string, { response, text }: Answer): void {
  const bare = new URL(path, ORIGIN).pathname;
  const documented = method.replace("HEAD", "GET");
  const endpoint = endpoints.find((one) => one.method === documented && one.pattern.test(bare));
  const answer = endpoint?.answers[response.status];
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
  if (type === "application/problem+json") return;
  expect([method, bare, response.status, typeof answer]).not.toContain("undefined");
  if (typeof answer !== "object") return expect(text).toBe("");
  const schema = answer[type] ?? answer["*/*"];
  expect([method, bare, type, typeof schema]).not.toContain("undefined");
  if (type !== "application/json") return;
  const shape = typeof schema === "function" ? schema() : schema;
  // A number beyond doubles is one in the answer, and none once it is parsed.
  const value: unknown = JSON.parse(text, (_, inner) => (inner === Infinity ? 0 : inner));
  expect(shape?.safeParse(value).error).toBeUndefined();
}
