import type { Context, MiddlewareHandler } from "hono";
import { Hono } from "hono/tiny";
import { cors } from "hono/cors";
import { routePath } from "hono/route";
import { secureHeaders } from "hono/secure-headers";
import { apiOf, type ApiOptions, mergedApi } from "./api.ts";
import type { AppEnv } from "./app-env.ts";
import * as auth from "./auth/authenticator.ts";
import type { Identity } from "../tool/identity.ts";
import { identityHeader } from "./auth/forwarded-identity.ts";
import type { FailurePlace } from "./log-failure.ts";
import { OLDER, problem } from "./http/problem.ts";
import { LastMessage, parseJson, readText, requireJsonType } from "./http/read-body.ts";
import { directoryFor, workerApi, type WorkerApiOptions } from "./routes/worker.ts";
import { settingsOf } from "./settings.ts";
import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import {
  conversationInQuery,
  conversationOf,
  mutableResponse,
  type RemoteConversation,
  userOf,
} from "./conversation-of.ts";
import type { Api } from "./conversation-parts.ts";
import type { TenantParts } from "./directory/directory.ts";
import { type Endpoint, parseHeaders } from "./http/endpoint.ts";
import { ClientBody, isStreamed, maxBodyBytes, tooLarge, withEnd } from "./http/client-body.ts";

export interface AppOptions extends ApiOptions, WorkerApiOptions {
  readonly authenticator: auth.Authenticator;
}

/** The Worker. All endpoints except `/health` and those of webhooks require authentication. */
export function createApp({ agents, page, model, authenticator, ...options }: AppOptions) {
  const api: Required<Api> = mergedApi([
    workerApi({ agents, page, model }, () => api),
    apiOf(options),
  ]);
  const app = new Hono<AppEnv>();
  const serve = (isOpen: boolean) => {
    for (const one of api.worker.filter((one) => (one.isOpen ?? false) === isOpen)) {
      app.on(one.method, one.path, (context) => {
        const { req } = context;
        const text = () => readText(context);
        return one.handle({ request: req.raw, params: req.param(), text }, context);
      });
    }
  };
  app.use(secureHeaders(SECURE_HEADERS));
  app.use(async (context, next) => {
    try {
      await next();
    } catch (error) {
      // `onError` receives only instances of Error; this is another thrown value.
      context.res = problem(error, placeOf(context));
    }
    // Responses are private, and change.
    const { headers } = context.res;
    if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  });
  // Before the open endpoints: pages read those, too.
  app.use((context, next) => {
    const origin = originsIn(context.env);
    return origin.length === 0
      ? next()
      : cors({ origin, exposeHeaders: EXPOSED_HEADERS })(context, next);
  });
  serve(true);
  const toTenant = (one: Endpoint<TenantParts>, ...before: readonly MiddlewareHandler<AppEnv>[]) =>
    app.on(one.method, [one.path], ...before, (context) => forward(context, one, directoryFor));
  for (const one of api.tenant) {
    if (one.tenantIn !== undefined) toTenant(one, auth.byPath(one.tenantIn), limitBody);
  }
  app.use(auth.authenticate(authenticator));
  // Hono's smallest router ignores a final slash, so a request whose client omitted a variable's name by
  // mistake would reach all variables.
  app.use(async (context, next) => (context.req.path.endsWith("/") ? nothingAt(context) : next()));
  app.use(limitBody);
  serve(false);
  for (const one of api.conversation) {
    const [, first = ""] = one.path.split("/");
    const objectOf = { agents: conversationInQuery, user: userOf }[first] ?? conversationOf;
    app.on(one.method, one.path, (context) => forward(context, one, objectOf));
  }
  for (const one of api.tenant) toTenant(one);
  app.notFound(nothingAt);
  app.onError((error, context) => {
    const { req, env } = context;
    const response = problem(error, placeOf(context));
    const challenge = response.status === 401 && options.gateway?.challenge(req.raw, env);
    if (challenge) response.headers.set("www-authenticate", challenge);
    return response;
  });
  return app;
}

/** Response headers that pages of other origins may read. */
const EXPOSED_HEADERS = [
  "etag",
  "location",
  "content-range",
  "accept-ranges",
  "retry-after",
  "www-authenticate",
  "x-byref-notes",
];

/** None if a setting is bad: authentication says so, and `/health` needs no settings. */
function originsIn(env: object): string[] {
  try {
    return [...(settingsOf(env).CORS_ORIGINS ?? [])];
  } catch {
    return [];
  }
}

function nothingAt(context: Context<AppEnv>): Response {
  const { req } = context;
  const message = `There is nothing at ${req.method} ${req.path}. See GET /openapi.json.`;
  return problem(new ByrefError("not_found", message), placeOf(context));
}

function placeOf(context: Context<AppEnv>): FailurePlace {
  const { req } = context;
  const [, conversation] = /^\/conversations\/([\w.-]{1,128})\//u.exec(`${req.path}/`) ?? [];
  // The tenant is unknown if authentication failed.
  const identity: Identity | undefined = context.get("identity");
  return { tenant: identity?.tenant, conversation, request: `${req.method} ${routePath(context)}` };
}

const PROTOCOL = "sec-websocket-protocol";

const COMMON_HEADERS = ["accept", "content-type", "traceparent"];

/**
 * Forwards a request to its conversation's or tenant's object: the path, query and body, and only the headers that the
 * endpoint reads. Keys and cookies do not reach the object, and no header can select another object.
 */
async function forward<Parts>(
  context: Context<AppEnv>,
  endpoint: Endpoint<Parts>,
  objectOf: (context: Context<AppEnv>, id?: string) => Fetches | Promise<Fetches>,
): Promise<Response> {
  const { raw } = context.req;
  // Parsed here too, because the platform drops empty headers when it forwards a request.
  parseHeaders(endpoint, raw.headers);
  const names = [...COMMON_HEADERS, ...Object.keys(endpoint.headers ?? {})];
  if (endpoint.isSocket === true) {
    // Browsers open sockets for any page and send its cookies along, with any authentication. Programs send no origin.
    const origin = raw.headers.get("origin");
    if (
      origin !== null &&
      !auth.isAllowedOrigin(origin, auth.hostOf(raw), settingsOf(context.env))
    ) {
      const message = `Pages of ${origin} may not connect here; see CORS_ORIGINS.`;
      throw new ByrefError("foreign_origin", message);
    }
    names.push("upgrade");
  }
  const { id, body, header } = await receive(context, endpoint);
  const headers = new Headers();
  for (const name of names) {
    const value = raw.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  if (header !== undefined) headers.set(...header);
  headers.set(...identityHeader(context.get("identity")));
  const init = { method: raw.method, headers, body: body ?? null };
  const object = await objectOf(context, id);
  const response = await object.fetch(raw.url, init);
  // The router of an object whose version does not have the endpoint.
  if (response.status === 404 && response.headers.get("content-type")?.startsWith("text/plain"))
    throw new ByrefError("unavailable", OLDER);
  const answer = mutableResponse(response);
  // A browser closes a socket whose server takes none of the protocols that it offers.
  const [protocol] = raw.headers.get(PROTOCOL)?.split(",") ?? [];
  if (answer.status === 101 && protocol) answer.headers.set(PROTOCOL, protocol.trim());
  return answer;
}

type Fetches = Pick<RemoteConversation, "fetch">;

interface Received {
  /** Default: the id in the path. */
  readonly id?: string;
  readonly body?: string | ReadableStream<Uint8Array>;
  /** Lets the object detect the end of a streamed body. */
  readonly header?: readonly [name: string, value: string];
}

/** Values are streamed. Other bodies are read first, so that the object does not wait for slow clients. */
async function receive<Parts>(
  context: Context<AppEnv>,
  endpoint: Endpoint<Parts>,
): Promise<Received> {
  const { raw } = context.req;
  if (endpoint.body !== undefined && endpoint.isBodyOptional !== true) requireJsonType(raw);
  if (endpoint.idIn !== undefined) {
    const body = await readText(context, new LastMessage(limits.maxMessageBytes));
    return { body, id: endpoint.idIn(parseJson(body)) };
  }
  if (isStreamed(endpoint)) {
    // A value without a declared length is counted while it is received.
    const maximum = maxBodyBytes(context.req, raw.headers.get("content-type") ?? "");
    if (Number(raw.headers.get("content-length")) > maximum) throw tooLarge(maximum);
    return withEnd(context.var.body.pieces());
  }
  const hasBody = endpoint.body !== undefined || endpoint.content !== undefined;
  return hasBody ? { body: await readText(context) } : {};
}

/**
 * Aborts a request whose body is too large or too slow: reading it (`context.var.body`) then fails with
 * `body_too_large` or `body_timeout`. Only time spent waiting for the client counts, not time spent
 * processing. Nothing is buffered.
 */
const limitBody: MiddlewareHandler<AppEnv> = async (context, next) => {
  const { req } = context;
  const encoding = req.header("content-encoding")?.toLowerCase() ?? "identity";
  if (encoding !== "identity" || req.header("content-range") !== undefined)
    throw new ByrefError("unsupported_media_type", WHOLE);
  const maxBytes = isStreamed(req) ? Number.POSITIVE_INFINITY : limits.maxBodyBytes;
  if (Number(req.header("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const body = new ClientBody(req.raw.body, maxBytes);
  context.set("body", body);
  await next();
  body.cancel();
  // The body's error replaces any response that resulted from it.
  if (body.error !== undefined) context.res = problem(body.error, placeOf(context));
};

/** A part, or a compressed body, would be stored as if it were the value. */
const WHOLE = "Send the body whole, without Content-Encoding and Content-Range.";

/** Security headers of responses that have none of their own. */
const SECURE_HEADERS = {
  overwrite: false,
  contentSecurityPolicy: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  xFrameOptions: "DENY",
};
