import type * as z from "zod";
import { parse } from "./parse.ts";
import { parseJson, requireJsonType } from "./read-body.ts";

type Schemas = Readonly<Record<string, z.ZodType>>;

/** A body by media type: a schema of its JSON, or a placeholder for text and bytes. */
export type Content = Schemas;

/** What an endpoint takes and returns. The schemas of a request both parse and document it. */
export interface Operation {
  readonly summary: string;
  readonly query?: Schemas;
  /** No other header reaches a conversation's object, but for `accept`, `content-type` and the like. */
  readonly headers?: Schemas;
  /** A JSON body. */
  readonly body?: z.ZodType;
  /** A body that the handler reads itself. */
  readonly content?: Content;
  readonly isBodyOptional?: boolean;
  /** By status: the body, or a description where there is none. All endpoints share the errors. */
  readonly answers: Readonly<Record<number, Content | string>>;
  /** Needs no authentication. */
  readonly isOpen?: boolean;
}

/** A request as an endpoint receives it. */
interface Incoming {
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  /** Reads the body, which is at most `maxMessageBytes` long. */
  readonly text: () => Promise<string>;
}

/** One method of one path. The target is what its handler works on: a conversation, or the Worker. */
export interface Endpoint<Target> extends Operation {
  readonly method: string;
  readonly path: string;
  handle(incoming: Incoming, target: Target): Promise<Response>;
}

/** A request, parsed. */
export interface Call<Route extends string, Described extends Operation> extends Incoming {
  readonly params: Readonly<Record<ParamsIn<Route>, string>>;
  readonly query: Parsed<Described["query"]>;
  readonly headers: Parsed<Described["headers"]>;
  readonly body: Described["body"] extends z.ZodType ? z.output<Described["body"]> : undefined;
}

type Parsed<Given> = { readonly [Name in keyof Given]: z.output<Given[Name]> };

type ParamsIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamsIn<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/**
 * The endpoint at a route such as `GET /conversations/:id`. The handler is called with what the schemas made of
 * the request. Throws what they throw, and `bad_request` for what they refuse.
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
      const { searchParams } = new URL(request.url);
      const call = {
        ...incoming,
        query: parseAll(operation.query, (name) => searchParams.get(name)),
        headers: parseHeaders(operation, request.headers),
        body: operation.body && (await parseBody(operation, incoming)),
      };
      // The route has the parameters, and the schemas made the rest.
      const response = await handler(call as Call<Route, Described>, target);
      if (request.method !== "HEAD") return response;
      await response.body?.cancel();
      return new Response(null, response);
    },
  };
}

/** Throws `bad_request` for a header that the endpoint documents and cannot read. */
export function parseHeaders({ headers }: Operation, given: Headers): Record<string, unknown> {
  return parseAll(headers, (name) => given.get(name));
}

function parseAll(schemas: Schemas = {}, given: (name: string) => string | null) {
  const entries = Object.entries(schemas).map(
    ([name, schema]) => [name, parse(schema, given(name) ?? undefined, name)] as const,
  );
  return Object.fromEntries(entries);
}

async function parseBody({ body, isBodyOptional }: Operation, { request, text }: Incoming) {
  const json = isBodyOptional === true ? await text() : undefined;
  if (json === "") return body && parse(body, {});
  requireJsonType(request);
  return body && parse(body, parseJson(json ?? (await text())));
}
