import type { Context } from "hono";
import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import type { AppEnv } from "./app-env.ts";
import { conversationOf } from "./conversation-of.ts";
import type { ConversationParts } from "./conversation-parts.ts";
import { isAllowedOrigin } from "./auth/authenticator.ts";
import { type Endpoint, parseHeaders } from "./http/endpoint.ts";
import { mutableResponse } from "./http/mutable-response.ts";
import { parse } from "./http/parse.ts";
import { parseJson, readChat, readText, requireJsonType } from "./http/read-body.ts";
import { withEnd } from "./http/whole-body.ts";
import { socketEndpoint } from "./routes/conversations.ts";
import { chatEndpoint } from "./routes/messages.ts";
import { settingsOf } from "./settings.ts";
import { chatBody } from "./turns/turn-request.ts";

/** Headers forwarded to every endpoint. */
const COMMON_HEADERS = ["accept", "content-type", "traceparent"];

/**
 * Forwards a request to its conversation's object: the path, query and body, and only the headers that the
 * endpoint reads. Keys and cookies do not reach the object, and no header can select another object.
 */
export async function forward(
  context: Context<AppEnv>,
  endpoint: Endpoint<ConversationParts>,
): Promise<Response> {
  const { raw } = context.req;
  // Parsed here too, because the platform drops empty headers when it forwards a request.
  parseHeaders(endpoint, raw.headers);
  const isSocket = endpoint === socketEndpoint;
  if (isSocket) requireOwnPage(context);
  const { id, body, header } = await receive(context, endpoint);
  const headers = new Headers();
  const names = [...COMMON_HEADERS, ...Object.keys(endpoint.headers ?? {})];
  for (const name of isSocket ? [...names, "upgrade"] : names) {
    const value = raw.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  if (header !== undefined) headers.set(...header);
  const init = { method: raw.method, headers, body: body ?? null };
  return mutableResponse(await conversationOf(context, id).fetch(raw.url, init));
}

interface Received {
  /** Default: the id in the path. */
  readonly id?: string;
  readonly body?: string | ReadableStream<Uint8Array>;
  /** Lets the object detect the end of a streamed body. */
  readonly header?: readonly [name: string, value: string];
}

/** Values are streamed. Other bodies are read first, so that the object does not wait for slow clients. */
async function receive(
  context: Context<AppEnv>,
  endpoint: Endpoint<ConversationParts>,
): Promise<Received> {
  const { raw } = context.req;
  if (endpoint.body !== undefined && endpoint.isBodyOptional !== true) requireJsonType(raw);
  if (endpoint === chatEndpoint) {
    const body = await readChat(context);
    return { body, id: parse(chatBody, parseJson(body)).id };
  }
  if (endpoint.method === "PUT") {
    requireSmallEnough(raw.headers.get("content-length"));
    return withEnd(context.var.body.pieces());
  }
  const hasBody = endpoint.body !== undefined || endpoint.content !== undefined;
  return hasBody ? { body: await readText(context) } : {};
}

/** Checks the declared length. A value without one is counted as it is received. */
function requireSmallEnough(contentLength: string | null): void {
  const maximum = limits.maxValueBytes;
  if (contentLength === null || Number(contentLength) <= maximum) return;
  throw new ByrefError(
    "body_too_large",
    `A value is at most ${maximum} bytes, this is ${contentLength}.`,
  );
}

/**
 * Requires an allowed origin, with any authentication: browsers open sockets for any page and send its
 * cookies along. The origin must be the server's own, or in `CORS_ORIGINS`; programs send none.
 */
function requireOwnPage({ env, req: { raw } }: Context<AppEnv>): void {
  const origin = raw.headers.get("origin");
  if (origin === null) return;
  const host = raw.headers.get("host") ?? new URL(raw.url).host;
  if (isAllowedOrigin(origin, host, settingsOf(env))) return;
  throw new ByrefError(
    "foreign_origin",
    `Pages of ${origin} may not connect here; see CORS_ORIGINS.`,
  );
}
