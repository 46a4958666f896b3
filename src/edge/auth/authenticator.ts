import { ByrefError } from "../../errors.ts";
import { isTenant, LOCAL_HOSTS, type Settings, settingsOf } from "../settings.ts";
import type { Context, MiddlewareHandler } from "hono";
import { logFailure } from "../log-failure.ts";
import type { AppEnv } from "../app-env.ts";
import type { Operation } from "../http/endpoint.ts";
import type { Identity } from "../../tool/identity.ts";
import { compact, isJsonObject, isObject } from "../../value/json.ts";
import { toJson } from "../../value/to-json.ts";
import { tenantOfTicket } from "./tickets.ts";

/**
 * Returns the tenant of a request, or the tenant with the principal and claims that tools may see, or throws. A
 * tenant that is none (`undefined`, an empty text, more than 256 characters) is rejected as `unauthorized`.
 */
export type Authenticator = (
  request: Request,
  settings: Settings,
) => Promise<string | Identity> | string | Identity;

/** The tenant of all who reach this machine. They are one user, so that values of a user can be tried. */
const LOCAL = "local";

/**
 * The authenticator that `AUTH` names; `jwt` is used for `AUTH=jwt`. If `AUTH` is unset, every request is
 * rejected.
 */
export function authenticatorBySettings(jwt?: Authenticator): Authenticator {
  return (request, settings) => {
    switch (settings.AUTH) {
      case "none":
        requireLocal(request, settings);
        return { tenant: LOCAL, principal: LOCAL };
      case "bearer":
        return bearerAuthenticator(request, settings);
      case "jwt": {
        if (jwt !== undefined) return jwt(request, settings);
        const message =
          "AUTH=jwt needs an authenticator in the application: jwt: jwtAuthenticator.";
        throw new ByrefError("bad_configuration", message);
      }
      default:
        throw unauthorized(
          "AUTH is not set, so every request is refused. Set it to bearer or jwt; for local work, write AUTH=none into .dev.vars.",
        );
    }
  };
}

/** The authenticator that `AUTH` names, except `jwt`. Returns the tenant alone, as a text. */
export const settingsAuthenticator: Authenticator = async (request, settings) => {
  const found = await authenticatorBySettings()(request, settings);
  return typeof found === "string" ? found : found.tenant;
};

/** Who asks. Throws `unauthorized` if the authenticator's result is not a tenant. */
async function identityOf(
  authenticator: Authenticator,
  request: Request,
  settings: Settings,
): Promise<Identity> {
  const given: unknown = await authenticator(request, settings);
  const identity = isObject(given) ? given : { tenant: given };
  const { tenant, principal, claims } = identity;
  if (!isTenant(tenant)) throw unauthorized("The authenticator accepted no tenant.");
  if (principal !== undefined && !isTenant(principal)) {
    throw unauthorized("The principal is not a text of 1 to 256 characters.");
  }
  if (claims === undefined) return { tenant, ...compact({ principal }) };
  // As of a tool's result, so that a Map or a Set of an application's own function is not empty where tools see it.
  const facts = toJson(claims).value;
  if (!isJsonObject(facts)) throw unauthorized("The claims are no object.");
  return { tenant, ...compact({ principal }), claims: facts };
}

/**
 * Requires no key, but accepts only programs and pages of this machine. Pages on the internet are rejected,
 * whether they use another name for this address (DNS rebinding) or their own origin.
 */
function requireLocal(request: Request, settings: Settings): void {
  const { LOCAL_SECRET } = settings;
  if (LOCAL_SECRET !== undefined && request.headers.get("x-byref-local") !== LOCAL_SECRET) {
    const message = "This port is for npm start only; use the port that it prints.";
    throw new ByrefError("foreign_origin", message);
  }
  const host = hostOf(request);
  if (!LOCAL_HOSTS.has(host.replace(/:\d{1,5}$/, "").toLowerCase())) {
    throw new ByrefError("foreign_origin", `AUTH=none answers to localhost only, not to ${host}.`);
  }
  const origin = request.headers.get("origin");
  // Browsers omit Origin in some requests, but send this header with every request.
  const isForeign = origin === null && request.headers.get("sec-fetch-site") === "cross-site";
  if (isForeign) throw new ByrefError("foreign_origin", "Pages of other sites may not call this.");
  if (origin === null || isAllowedOrigin(origin, host, settings)) return;
  throw new ByrefError("foreign_origin", `Pages of ${origin} may not call this; see CORS_ORIGINS.`);
}

export function hostOf({ headers, url }: Request): string {
  return headers.get("host") ?? new URL(url).host;
}

/** True for the server's own pages, and for origins that `CORS_ORIGINS` names. */
export function isAllowedOrigin(origin: string, host: string, { CORS_ORIGINS = [] }: Settings) {
  const isOwn = origin === `http://${host}` || origin === `https://${host}`;
  return isOwn || CORS_ORIGINS.includes(origin);
}

const bearerAuthenticator: Authenticator = async (request, { API_KEYS = {} }) => {
  const header = request.headers.get("authorization") ?? "";
  const key = /^Bearer (\S{1,512})$/i.exec(header)?.[1];
  if (key === undefined) throw unauthorized("Send a key: Authorization: Bearer <key>.");
  const given = await sha256(key);
  let tenant: string | undefined;
  // Every key is compared, each in constant time, so that timing reveals nothing about the keys.
  for (const [known, owner] of await digestsOf(API_KEYS)) {
    if (crypto.subtle.timingSafeEqual(given, known)) tenant = owner;
  }
  if (tenant === undefined) throw unauthorized("The key is unknown.");
  return tenant;
};

type Digests = readonly (readonly [digest: ArrayBuffer, tenant: string])[];
const knownDigests = new WeakMap<object, Digests>();

async function digestsOf(keys: Readonly<Record<string, string>>): Promise<Digests> {
  const digestOf = async ([key, tenant]: [string, string]) => [await sha256(key), tenant] as const;
  const digests = knownDigests.get(keys) ?? (await Promise.all(Object.entries(keys).map(digestOf)));
  knownDigests.set(keys, digests);
  return digests;
}

function sha256(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
}

export function unauthorized(message: string): ByrefError {
  return new ByrefError("unauthorized", message);
}

/**
 * Sets the request's tenant, from the authenticator or a ticket, and limits its rate. Rejects all other
 * requests.
 */
export function authenticate(authenticator: Authenticator): MiddlewareHandler<AppEnv> {
  return async (context, next) => {
    const settings = settingsOf(context.env);
    const ticket = new URL(context.req.url).searchParams.get("ticket");
    const identity =
      ticket === null
        ? await identityOf(authenticator, context.req.raw, settings)
        : { tenant: await redeem(context, ticket, settings) };
    await limitRate(context.env.RATE_LIMIT, identity.tenant);
    context.set("identity", identity);
    await next();
    // Pages of other origins that received the ticket show the response as an image.
    if (ticket !== null) context.res.headers.set("cross-origin-resource-policy", "cross-origin");
  };
}

/**
 * Sets the tenant that an open endpoint's path names. Its rate is limited apart from the tenant's own requests. Throws
 * `bad_configuration`, so that bad settings close it as they close all others.
 */
export const byPath =
  (tenantIn: Required<Operation>["tenantIn"]): MiddlewareHandler<AppEnv> =>
  async (context, next) => {
    settingsOf(context.env);
    const tenant = tenantIn(context.req.param());
    await limitRate(context.env.RATE_LIMIT, `hooks of ${tenant}`);
    context.set("identity", { tenant });
    await next();
  };

/** Returns the ticket's tenant; a key in the request is ignored. Removes the ticket from the request. */
async function redeem(context: Context<AppEnv>, ticket: string, settings: Settings) {
  const { req } = context;
  // A ticket does not prove where a request comes from.
  if (settings.AUTH === "none") requireLocal(req.raw, settings);
  const url = new URL(req.url);
  const isGet = req.raw.method === "GET";
  const tenant = isGet ? await tenantOfTicket(settings, ticket, url.pathname) : undefined;
  if (tenant === undefined) {
    throw unauthorized("The ticket is for a GET of one path and 60 seconds; get another.");
  }
  url.searchParams.delete("ticket");
  req.raw = new Request(url, req.raw);
  return tenant;
}

/**
 * Throws `rate_limited` if the binding refuses the request. The limit is approximate and protects against
 * floods; spend limits are counted elsewhere. Requests are therefore accepted while the binding fails.
 */
async function limitRate(binding: RateLimit | undefined, tenant: string): Promise<void> {
  if (binding === undefined) return;
  try {
    const { success } = await binding.limit({ key: tenant });
    if (success) return;
  } catch (error) {
    return void logFailure(error, { tenant, request: "rate limit" });
  }
  throw new ByrefError("rate_limited", "There were too many requests; try again later.");
}
