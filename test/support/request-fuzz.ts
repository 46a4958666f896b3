import fc from "fast-check";
import type {
  JsonSchema,
  MediaTypes,
  OpenApi,
  OpenApiOperation,
  OpenApiParameter,
} from "../../src/edge/openapi/document.ts";

/** A request as a client of the documented API might send it, valid or not. */
export interface FuzzedRequest {
  readonly method: string;
  /** The route as in the document: `/conversations/{id}`. */
  readonly route: string;
  /** Encoded values of the path parameters. */
  readonly names: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** True if the request is valid according to the document. */
  readonly isValid: boolean;
}

/** The first entry appears most often, so that one call finds what another created. */
const IDS = ["one", "one", "one", "two", "a.b-c_d", "9".repeat(128)] as const;
const NAMES = ["note", "note", "note", "list_orders", "_", "missing"] as const;
/** Each is deleted at some time, and random plans are rarely right. */
export const PROGRAMS = Array.from({ length: 30 }, (_, number) => `program-${number}`);
const AGENTS = ["weather", "orders", "nobody"] as const;
/** Values that no program sends by accident. */
const ODD = [
  "",
  " ",
  "..",
  ".",
  "%00",
  "%2e%2e%2f",
  "a/b",
  "__proto__",
  "constructor",
  "$orders",
  "é\u202e",
  "x".repeat(400),
  "-1",
  "1e9",
  "NaN",
  "null",
  "[object Object]",
  '"; DROP TABLE variable; --',
] as const;

/** Deletes what all others ask for. */
const DELETES_ALL = "delete /conversations";

/** Generates requests to every call of a document but that one, from its schemas. */
export function requestsOf(document: OpenApi): fc.Arbitrary<FuzzedRequest> {
  const calls = Object.entries(document.paths).flatMap(([route, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) =>
      `${method} ${route}` === DELETES_ALL
        ? []
        : [requestOf(document, { method: method.toUpperCase(), route, operation })],
    ),
  );
  return fc.oneof(...calls);
}

interface Call {
  readonly method: string;
  readonly route: string;
  readonly operation: OpenApiOperation;
}

function requestOf(document: OpenApi, { method, route, operation }: Call) {
  const values = new Values(document);
  const { parameters, requestBody } = operation;
  const of = (where: OpenApiParameter["in"]) => parameters.filter((one) => one.in === where);
  return fc
    .record({
      method: fc.constant(method),
      route: fc.constant(route),
      names: fc.record(
        Object.fromEntries(of("path").map((one) => [one.name, nameFor(one, route)])),
      ),
      query: values.texts(of("query")),
      headers: values.texts(of("header")),
      body: requestBody === undefined ? fc.constant(undefined) : values.body(requestBody.content),
      accept: fc.constantFrom(
        "application/json",
        "text/plain",
        "text/event-stream",
        "text/markdown",
        "*/*",
        "",
      ),
      broken: fc.option(fc.tuple(fc.nat(), fc.constantFrom(...ODD)), { freq: 2, nil: undefined }),
    })
    .map(({ body, accept, broken, ...request }) => {
      const made = {
        ...request,
        headers: { ...request.headers, accept, ...(body && { "content-type": body.type }) },
        ...(body === undefined ? {} : { body: body.text }),
        isValid: body?.isValid !== false,
      };
      return broken === undefined ? made : breakRequest(made, ...broken);
    });
}

/** Mostly names of existing conversations and variables. */
function nameFor({ name }: OpenApiParameter, route: string): fc.Arbitrary<string> {
  if (route.startsWith("/agents/")) return fc.constantFrom(...AGENTS);
  if (name === "id") return fc.constantFrom(...IDS);
  if (name === "name") return fc.constantFrom(...NAMES);
  if (name === "program") return fc.constantFrom(...PROGRAMS);
  if (name === "trigger") return fc.constantFrom("daily", "weekly");
  // A placeholder for the sender, which alone knows which ones exist.
  return fc.nat(5).map((number) => `{${name}:${number}}`);
}

/** Replaces one part of the request with something odd. */
function breakRequest(request: FuzzedRequest, where: number, odd: string): FuzzedRequest {
  const { names, query, headers, body = "" } = request;
  const [name = "id", parameter = "limit"] = [Object.keys(names)[0], Object.keys(query)[0]];
  const ways: readonly Partial<FuzzedRequest>[] = [
    { names: { ...names, [name]: encodeURIComponent(odd) || "%20" } },
    { query: { ...query, [parameter]: odd } },
    { query: { ...query, [odd]: odd } },
    { headers: { ...headers, "content-type": odd.replaceAll(/[^ -~]/g, "?") } },
    { headers: { ...headers, "if-match": "not an etag", range: "bytes=9-1" } },
    { body: body.slice(0, where % (body.length + 1)) + odd },
    { body: `${"[".repeat(5_000)}${body}` },
    { method: ["PUT", "PATCH", "DELETE", "POST"][where % 4] ?? "PUT" },
  ];
  const way = ways[where % ways.length];
  const isBodiless = request.method === "GET" || request.method === "HEAD";
  const { body: _, ...rest } = { ...request, ...way, isValid: false };
  return isBodiless && way?.method === undefined ? rest : { ...request, ...way, isValid: false };
}

/** Generates values that match schemas of the document. */
class Values {
  readonly #document: OpenApi;

  constructor(document: OpenApi) {
    this.#document = document;
  }

  texts(parameters: readonly OpenApiParameter[]): fc.Arbitrary<Record<string, string>> {
    const one = ({ schema }: OpenApiParameter) => this.of(schema).map((value) => textOf(value));
    const all = Object.fromEntries(parameters.map((parameter) => [parameter.name, one(parameter)]));
    // Some of those that are not required are left out.
    const requiredKeys = parameters.flatMap(({ name, required }) => (required ? [name] : []));
    return fc.record(all, { requiredKeys }).map((some) => some as Record<string, string>);
  }

  body(content: MediaTypes) {
    return fc.oneof(
      ...Object.entries(content).map(([type, { schema }]) => {
        const isJson = type === "application/json";
        const value = isJson ? this.of(schema).map((made) => JSON.stringify(made)) : rawText;
        const sent = type === "*/*" ? "application/octet-stream" : type;
        // Schemas do not say which texts are valid for these types.
        return value.map((text) => ({ type: sent, text, isValid: isJson }));
      }),
    );
  }

  of(schema: JsonSchema, depth = 0): fc.Arbitrary<unknown> {
    const { $ref, type, anyOf, oneOf, enum: choices, const: only, examples } = schema;
    if (examples !== undefined) return fc.constantFrom(...examples);
    if (type !== undefined && typeof type !== "string") {
      return fc.oneof(...type.map((one) => this.of({ ...schema, type: one }, depth)));
    }
    if ($ref !== undefined) {
      const name = $ref.split("/").at(-1) ?? "";
      return this.of(this.#document.components.schemas[name] ?? {}, depth + 1);
    }
    if (only !== undefined) return fc.constant(only);
    if (choices !== undefined) return fc.constantFrom(...choices);
    const some = anyOf ?? oneOf;
    // Ends a recursive schema with its first alternative, which is not recursive.
    if (some !== undefined) {
      return fc.oneof(
        ...some.slice(0, depth > 3 ? 1 : undefined).map((one) => this.of(one, depth)),
      );
    }
    switch (type) {
      case "string":
        return stringOf(schema);
      case "integer":
        return fc.integer({
          min: numberOf(schema.minimum, 0),
          max: numberOf(schema.maximum, 9_999),
        });
      case "number":
        return fc.double({ noNaN: true, noDefaultInfinity: true });
      case "boolean":
        return fc.boolean();
      case "null":
        return fc.constant(null);
      case "array":
        return fc.array(this.of(schema.items ?? {}, depth + 1), {
          minLength: numberOf(schema.minItems, 0),
          maxLength: 3,
        });
      case "object":
        return this.#object(schema, depth);
      default:
        return fc.jsonValue({ maxDepth: 2 });
    }
  }

  #object(schema: JsonSchema, depth: number): fc.Arbitrary<unknown> {
    const { properties = {}, required = [] } = schema;
    const known = Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, this.of(property, depth + 1)]),
    );
    return fc
      .record(known, { requiredKeys: required.filter((name) => name in known) })
      .filter((made) => Object.keys(made).length >= numberOf(schema.minProperties, 0));
  }
}

const rawText = fc.oneof(
  fc.string({ maxLength: 200 }),
  fc
    .array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 4 })
    .map((records) => records.map((record) => JSON.stringify(record)).join("\n")),
  fc.constantFrom("<workflow></workflow>", "# Plan\n", '{"type":"byref","version":1}\n'),
);

/** Sometimes includes text that the agents' tools and references understand. */
const meant = fc.constantFrom(
  "Compare London and Paris.",
  "Show my orders.",
  "$orders[0].id",
  "SELECT 1 AS one",
  "{{orders}} and {{missing}}",
  "get_weather",
  "list_orders",
  "weather",
  "demo",
  "/conversations/one/variables/photo",
);

function stringOf({ pattern, minLength, maxLength, format }: JsonSchema): fc.Arbitrary<string> {
  if (format === "date-time")
    return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, "u"), { size: "small" });
  const bounds = {
    minLength: numberOf(minLength, 0),
    maxLength: Math.min(numberOf(maxLength, 60), 60),
  };
  return fc.oneof(meant, fc.string({ unit: "binary", ...bounds }));
}

function numberOf(bound: number | undefined, otherwise: number): number {
  return bound !== undefined && Math.abs(bound) <= 1e9 ? bound : otherwise;
}

/** Returns the text of a parameter. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
