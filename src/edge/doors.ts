import { ByrefError } from "../errors.ts";
import type { Settings } from "./settings.ts";

/** Lets a request in and says whose it is, or throws `unauthorized`. */
export type Door = (request: Request, settings: Settings) => Promise<string> | string;

const LOCAL_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);
const LOCAL_TENANT = "local";

/** The door that `AUTH` names. Unset, nobody comes in. */
export const settingsDoor: Door = (request, settings) => {
  switch (settings.AUTH) {
    case "none":
      return localDoor(request, settings);
    case "bearer":
      return bearerDoor(request, settings);
    default:
      throw unauthorized("AUTH is not set, so nobody may come in; set it to bearer.");
  }
};

/**
 * No key, but only for programs and pages of this machine: no page on the internet may talk to it, by
 * another name for this address (DNS rebinding) or from its own origin.
 */
const localDoor: Door = (request, settings) => {
  const { LOCAL_SECRET } = settings;
  if (LOCAL_SECRET !== undefined && request.headers.get("x-byref-local") !== LOCAL_SECRET) {
    throw new ByrefError(
      "foreign_host",
      "This port answers to npm start only; use the one it says.",
    );
  }
  const host = request.headers.get("host") ?? new URL(request.url).host;
  if (!LOCAL_HOSTS.has(hostname(host))) {
    throw new ByrefError("foreign_host", `AUTH=none answers to localhost only, not to ${host}.`);
  }
  const origin = request.headers.get("origin");
  // Browsers leave Origin out of some requests; this they send with every one.
  const isForeign = origin === null && request.headers.get("sec-fetch-site") === "cross-site";
  if (isForeign) throw new ByrefError("foreign_origin", "Pages of other sites may not call this.");
  if (origin === null || isAllowedOrigin(origin, host, settings)) return LOCAL_TENANT;
  throw new ByrefError("foreign_origin", `Pages of ${origin} may not call this; see CORS_ORIGINS.`);
};

/** The origins whose pages may call from a browser, besides our own. */
export function corsOrigins({ CORS_ORIGINS = "" }: Settings): string[] {
  return CORS_ORIGINS.split(",")
    .map((origin) => origin.trim())
    .filter((origin) => origin !== "");
}

/** Is it a page of ours, or of an origin that may call? */
export function isAllowedOrigin(origin: string, host: string, settings: Settings): boolean {
  const isOwn = origin === `http://${host}` || origin === `https://${host}`;
  return isOwn || corsOrigins(settings).includes(origin);
}

function hostname(host: string): string {
  return host.replace(/:\d{1,5}$/, "").toLowerCase();
}

const bearerDoor: Door = async (request, { API_KEYS = {} }) => {
  const header = request.headers.get("authorization") ?? "";
  const key = /^Bearer (\S{1,512})$/i.exec(header)?.[1];
  if (key === undefined) throw unauthorized("Send a key: Authorization: Bearer <key>.");
  const given = await sha256(key);
  let tenant: string | undefined;
  // Every key is compared, each in constant time, so that time tells nothing about any of them.
  for (const [known, owner] of Object.entries(API_KEYS)) {
    if (crypto.subtle.timingSafeEqual(given, await sha256(known))) tenant = owner;
  }
  if (tenant === undefined) throw unauthorized("The key is not known here.");
  return tenant;
};

function sha256(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
}

function unauthorized(message: string): ByrefError {
  return new ByrefError("unauthorized", message);
}
