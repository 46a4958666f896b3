import { describe, expect, it } from "vitest";
import { createApp } from "../../src/edge/app.ts";
import { apiOf } from "../../src/edge/api.ts";
import type { Endpoint } from "../../src/edge/http/endpoint.ts";
import type { JsonSchema, OpenApiParameter } from "../../src/edge/openapi/document.ts";
import { fileEndpoints } from "../../src/edge/routes/files.ts";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import { transfers } from "../../packages/transfer/src/transfers.ts";
import { codeOf } from "../../src/errors.ts";
import { openApiFrom } from "../support/openapi.ts";

const options = { plans: planSupport(), transfer: transfers, files: fileEndpoints };
const api = apiOf(options);
const document = await openApiFrom(
  createApp({ agents: [], authenticator: () => "anybody", ...options }),
);

/** Returns values that the schema rejects. */
function invalidFor({ type, enum: choices, pattern, minimum, maximum, maxLength }: JsonSchema) {
  if (choices !== undefined) return ["", "none", `${String(choices[0])}x`];
  if (type === "integer") {
    return ["", "x", "1.5", "1e1", `${(minimum ?? 0) - 1}`, `${(maximum ?? 0) + 1}`];
  }
  if (maxLength !== undefined) return ["x".repeat(maxLength + 1)];
  return pattern === undefined ? [] : [" "];
}

/** Returns values that the schema allows. */
function validFor({ type, enum: choices, minimum, maximum, maxLength }: JsonSchema) {
  if (choices !== undefined) return choices.map(String);
  if (type === "integer") return [`${minimum ?? 0}`, `${maximum ?? 0}`];
  return maxLength === undefined ? [] : ["", "x".repeat(maxLength)];
}

const calls = [...api.worker, ...api.tenant, ...api.conversation].flatMap((endpoint) => {
  const path = endpoint.path.replaceAll(/:(\w+)(\{.+\})?/g, "{$1}");
  const operation = document.paths[path]?.[endpoint.method.toLowerCase()];
  const parameters = (operation?.parameters ?? []).filter(({ in: where }) => where !== "path");
  return parameters.map((parameter) => ({ endpoint: endpoint as Endpoint<unknown>, parameter }));
});
const titled = calls.map(
  (one) => [`${one.endpoint.method} ${one.endpoint.path} ${one.parameter.name}`, one] as const,
);

/** Sends this parameter. Returns the code of the problem, or of the handler's first error. */
async function outcomeOf(
  { method, path, ...endpoint }: Endpoint<unknown>,
  { name, in: where }: OpenApiParameter,
  value: string,
  query = where === "query" ? `?${new URLSearchParams({ [name]: value })}` : "",
): Promise<string> {
  const headers = where === "header" ? { [name]: value } : {};
  const request = new Request(`http://localhost${path}${query}`, { method, headers });
  try {
    // The handler and the parser of a body have no data here.
    await endpoint.handle({ request, params: {}, text: async () => "" }, undefined);
    return "done";
  } catch (error) {
    return codeOf(error);
  }
}

/** Parameters that allow more than their schema (a date beside an etag), or have a syntax of their own. */
const FREE = new Set(["If-Range", "path", "before", "Range"]);

describe("every documented parameter", () => {
  it("belongs to an existing endpoint", () => {
    expect(calls.length).toBeGreaterThan(30);
    const documented = Object.values(document.paths).flatMap((operations) =>
      Object.values(operations).flatMap(({ parameters }) =>
        parameters.filter(({ in: where }) => where !== "path"),
      ),
    );
    expect(calls.map(({ parameter }) => parameter.name).sort()).toEqual(
      documented.map(({ name }) => name).sort(),
    );
  });

  it.each(titled)("%s refuses what its schema rules out", async (_, { endpoint, parameter }) => {
    if (FREE.has(parameter.name)) return;
    for (const value of invalidFor(parameter.schema)) {
      expect(await outcomeOf(endpoint, parameter, value), value).toBe("bad_request");
    }
  });

  it.each(titled)("%s accepts what its schema allows", async (_, { endpoint, parameter }) => {
    // The bound of a part is the number of parts.
    if (endpoint.path === "/conversations/import" && parameter.name === "part") return;
    for (const value of validFor(parameter.schema)) {
      expect(await outcomeOf(endpoint, parameter, value), value).not.toBe("bad_request");
    }
  });

  const inQuery = titled.filter(([, { parameter }]) => parameter.in === "query");

  it.each(inQuery)(
    "%s is refused twice (honojs/hono#1169), and where it is not UTF-8 (honojs/hono#3550)",
    async (_, { endpoint, parameter }) => {
      const [value = "x"] = validFor(parameter.schema);
      const [pair, half] = [new URLSearchParams([[parameter.name, value]]), "caf%E9"];
      for (const query of [`?${pair}&${pair}`, `?${parameter.name}=${half}`]) {
        expect(await outcomeOf(endpoint, parameter, value, query), query).toBe("bad_request");
      }
    },
  );

  it.each(inQuery.filter(([title]) => /^(?:PUT|PATCH|DELETE)/u.test(title)))(
    "%s is refused if it is misspelt: it would be ignored",
    async (_, { endpoint, parameter }) => {
      expect(await outcomeOf(endpoint, parameter, "x", `?${parameter.name}s=x`)).toBe(
        "bad_request",
      );
    },
  );

  it("may hold the character for what is not UTF-8", async () => {
    const call = calls.find(({ parameter }) => parameter.name === "search");
    if (call === undefined) throw new Error("It is documented.");
    for (const value of ["100%", "\uFFFD"]) {
      expect(await outcomeOf(call.endpoint, call.parameter, value)).toBe("internal");
    }
  });

  it.each([
    { route: "GET /conversations/:id/variables/:name", name: "path", value: ".", code: "bad_path" },
    { route: "GET /conversations", name: "before", value: "x", code: "bad_request" },
  ])("$route refuses $name=$value", async ({ route, name, value, code }) => {
    const call = calls.find(
      ({ endpoint, parameter }) =>
        `${endpoint.method} ${endpoint.path}` === route && parameter.name === name,
    );
    if (call === undefined) throw new Error("It is documented.");
    expect(await outcomeOf(call.endpoint, call.parameter, value)).toBe(code);
  });
});

const bodies = [...api.worker, ...api.tenant, ...api.conversation].flatMap((endpoint) =>
  endpoint.body === undefined ? [] : [[`${endpoint.method} ${endpoint.path}`, endpoint] as const],
);

it.each(bodies)("a body of %s is refused where its documented schema does", async (_, endpoint) => {
  const headers = { "content-type": "application/json" };
  const init = { method: endpoint.method, headers, body: "[]" };
  const request = new Request(`http://localhost${endpoint.path}`, init);
  const incoming = { request, params: {}, text: () => request.text() };
  const refused = (endpoint as Endpoint<unknown>).handle(incoming, undefined);
  await expect(refused).rejects.toMatchObject({ code: "bad_request" });
});
