import type * as z from "zod";
import { parseJson, requireJsonType } from "./read-body.ts";
import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { clip } from "../../value/characters.ts";

type Schemas = Readonly<Record<string, z.ZodType>>;

/** A schema that only describes, or a function that creates it. */
export type Description = z.ZodType | (() => z.ZodType);

/** Bodies by media type: the schema of JSON, or a placeholder for text and bytes. */
export type Content = Readonly<Record<string, Description>>;

/** An endpoint's request and responses. The schemas of a request both parse and document it. */
export interface Operation {
  readonly summary: string;
  readonly query?: Schemas;
  /** Only these headers, and common ones such as `accept` and `content-type`, reach a conversation's object. */
  readonly headers?: Schemas;
  /** A JSON body. */
  readonly body?: z.ZodType;
  /** A body that the handler reads itself. */
  readonly content?: Content;
  readonly isBodyOptional?: boolean;
  /** Responses by status: the body's schema, or a description if there is no body. All endpoints share the errors. */
  readonly answers: Readonly<Record<number, Content | string>>;
  /** True if no authentication is required. */
  readonly isOpen?: boolean;
  /** The tenant, by an open endpoint's path: that tenant's object checks the request. Throws `unauthorized`. */
  readonly tenantIn?: (params: Readonly<Record<string, string>>) => string;
  /** True if it opens a WebSocket, which only pages of allowed origins may do. */
  readonly isSocket?: boolean;
  /**
   * Finds the conversation's id in the parsed JSON of a body of `useChat`; by default the id is in the path.
   * Throws `bad_request`. Only the last message of such a body is read.
   */
  readonly idIn?: (body: unknown) => string;
}

interface Incoming {
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  /** Reads the body, at most `maxMessageBytes`. */
  readonly text: () => Promise<string>;
}

/** One method of one path. The handler works on the target: a conversation, or the Worker. */
export interface Endpoint<Target> extends Operation {
  readonly method: string;
  readonly path: string;
  handle(incoming: Incoming, target: Target): Promise<Response>;
}

export interface Call<Route extends string, Described extends Operation> extends Incoming {
  readonly params: Readonly<Record<ParamsIn<Route>, string>>;
  readonly query: Parsed<Described["query"]>;
  readonly headers: Parsed<Described["headers"]>;
  readonly body: Described["body"] extends z.ZodType ? z.output<Described["body"]> : undefined;
}

export type Parsed<Given> = { readonly [Name in keyof Given]: z.output<Given[Name]> };

type ParamsIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamsIn<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/**
 * Creates the endpoint at a route such as `GET /conversations/:id`. The handler receives the parsed request.
 * Throws `bad_request` for a request that the schemas reject, and errors that they throw.
 */
export function endpoint<Target, const Route extends string, const Described extends Operation>(
  route: Route,
  operation: Described,
  handler: (call: Call<Route, Described>, target: Target) => Response | Promise<Response>,
): Endpoint<Target> {
  const [method = "", path = ""] = route.split(" ");
  return {
    ...operation,
    method,
    path,
    async handle(incoming, target) {
      const { request } = incoming;
      const url = new URL(request.url);
      if (CHANGING.has(method)) requireNamed(url, operation);
      const call = {
        ...incoming,
        query: parseAll(operation.query, (name) => parameterIn(url, name)),
        headers: parseHeaders(operation, request.headers),
        body: operation.body && (await parseBody(operation.body, operation, incoming)),
      };
      // The route guarantees the parameters, and the schemas the rest.
      const response = await handler(call as Call<Route, Described>, target);
      if (request.method !== "HEAD") return response;
      await response.body?.cancel();
      return new Response(null, response);
    },
  };
}

/** Throws `bad_request` for a malformed header that the endpoint documents. */
export function parseHeaders({ headers }: Operation, given: Headers): Record<string, unknown> {
  return parseAll(headers, (name) => given.get(name));
}

/** Methods whose work cannot be taken back if a parameter was ignored. Clients of others add parameters of their own. */
const CHANGING: ReadonlySet<string> = new Set(["PUT", "PATCH", "DELETE"]);

/** Throws `bad_request` for a parameter that the endpoint does not have, as for one that is misspelt. */
function requireNamed({ searchParams }: URL, { query = {} }: Operation): void {
  // The Worker reads the location of any conversation.
  const other = [...searchParams.keys()].find((name) => name !== "location" && !(name in query));
  if (other === undefined) return;
  const names = Object.keys(query).join(", ") || "none";
  throw new ByrefError(
    "bad_request",
    `${clip(other, MAX_PLACE_CHARS)}: is no parameter here; there are: ${names}`,
  );
}

/** Throws `bad_request` for a parameter that is there twice, or not in UTF-8: one value would be lost, or changed. */
function parameterIn({ search, searchParams }: URL, name: string): string | null {
  const [value = null, ...others] = searchParams.getAll(name);
  if (others.length > 0) throw new ByrefError("bad_request", `${name}: must be there once`);
  if (value?.includes("\uFFFD") !== true || /%EF%BF%BD/iu.test(search)) return value;
  throw new ByrefError("bad_request", `${name}: must be UTF-8, percent-encoded`);
}

function parseAll(schemas: Schemas = {}, given: (name: string) => string | null) {
  const entries = Object.entries(schemas).map(
    ([name, schema]) => [name, parse(schema, given(name) ?? undefined, name)] as const,
  );
  return Object.fromEntries(entries);
}

async function parseBody(
  body: z.ZodType,
  { isBodyOptional }: Operation,
  { request, text }: Incoming,
) {
  const json = isBodyOptional === true ? await text() : undefined;
  if (json === "") return parse(body, {});
  requireJsonType(request);
  return parse(body, parseJson(json ?? (await text())));
}

/** Parses the value. Throws `bad_request`, which names the first `maxShownItems` invalid places. */
export function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, at = "body") {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, limits.maxShownItems).map(({ path, message }) => ({
    at: clip([at, ...path].join("."), MAX_PLACE_CHARS),
    message: clip(message, MAX_ISSUE_CHARS),
  }));
  const summary = issues.map((issue) => `${issue.at}: ${issue.message}`).join("; ");
  throw new ByrefError("bad_request", summary, { issues });
}

const MAX_PLACE_CHARS = 200;
const MAX_ISSUE_CHARS = 500;
