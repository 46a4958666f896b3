import * as limits from "../limits.ts";
import * as z from "zod";
import { ByrefError } from "../errors.ts";
import { toolRules } from "../tool/tool-rules.ts";
import { isObject } from "../value/json.ts";
import { JURISDICTIONS, locationHint } from "./placement.ts";

const json = <Schema extends z.ZodType>(schema: Schema) =>
  z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue({ code: "custom", message: "is not JSON" });
        return z.NEVER;
      }
    })
    .pipe(schema);

/** The message contains no part of the value, which has keys in it. */
const apiKeys = z.custom<Readonly<Record<string, string>>>(
  (value) =>
    isObject(value) &&
    Object.entries(value).every(([key, tenant]) => API_KEY.test(key) && isTenant(tenant)),
  { error: 'must be JSON: {"<key of at least 16 characters, no spaces>": "<tenant>"}' },
);
const API_KEY = /^[!-~]{16,512}$/;

/** True for a valid tenant, from an authenticator or a setting. */
export function isTenant(value: unknown): value is string {
  if (typeof value !== "string" || value === "") return false;
  // An identity in a template literal: all tenants would be one.
  if (value.includes("[object Object]")) return false;
  return value.length <= limits.maxIdChars && value.isWellFormed();
}

/** At least as long as an HMAC-SHA-256. A PEM is rejected: a public key is not a secret. */
const secret = z
  .string()
  .regex(/^(?!\s*-----BEGIN)[^]{32,}$/, "must be a secret of at least 32 characters, not a PEM");

const jwksUrl = z.url({ error: "must be a URL", abort: true }).refine(
  (text) => {
    const { protocol, hostname, username, password } = new URL(text);
    const isSafe = protocol === "https:" || (protocol === "http:" && LOCAL_HOSTS.has(hostname));
    return isSafe && username + password === "";
  },
  { error: "must be https, without user and password" },
);

/** In the form that URLs use. */
export const LOCAL_HOSTS: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** In the form that browsers send. */
const origins = z
  .string()
  .transform((text) => text.split(",").map((origin) => origin.trim()))
  .refine(
    (all) => all.every((one) => /^https?:[^*]+$/.test(one) && URL.parse(one)?.origin === one),
    {
      error: "must be origins, separated by commas: https://app.example, http://localhost:5173",
    },
  );

const MCP_NAME = "must be a name of up to 32 letters, digits and _ that begins with a letter";

/** A URL without credentials, which belong in headers. */
const plainUrl = z
  .url({ protocol: /^https?$/, error: "must be a URL, http or https", abort: true })
  .refine((url) => new URL(url).username + new URL(url).password === "", {
    error: "must contain no user and password: put them into headers",
  });

/** The messages contain no part of the value, which has keys in it. */
const mcpServers = z
  .array(
    z.strictObject({
      name: z.string({ error: MCP_NAME }).regex(/^[A-Za-z]\w{0,31}$/, MCP_NAME),
      url: plainUrl,
      headers: z
        .custom<Readonly<Record<string, string>>>(isHeaders, {
          error: 'must be of the form {"<name>": "<value>"}',
        })
        .optional(),
      agents: z.array(z.string()).optional(),
      tools: z.record(z.string(), toolRules).optional(),
    }),
    { error: 'must be a JSON array: [{"name": "<name>", "url": "<url>"}]' },
  )
  .refine((servers) => new Set(servers.map(({ name }) => name)).size === servers.length, {
    error: "must give each server a different name",
  });

/** Header names and values that `fetch` accepts. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

function isHeaders(value: unknown): boolean {
  return (
    isObject(value) &&
    Object.entries(value).every(
      ([name, text]) =>
        HEADER_NAME.test(name) && typeof text === "string" && HEADER_VALUE.test(text),
    )
  );
}

/** `a=b,c=d` with percent-encoded values, as in OpenTelemetry. */
const otlpHeaders = z
  .string()
  .transform((text) => {
    const pairs = text.split(",").filter((pair) => pair.trim() !== "");
    try {
      return Object.fromEntries(
        pairs.map((pair) => {
          const [name = "", ...value] = pair.split("=");
          return [name.trim(), value.length > 0 && decodeURIComponent(value.join("=").trim())];
        }),
      );
    } catch {
      return undefined;
    }
  })
  .pipe(
    z.custom<Readonly<Record<string, string>>>(isHeaders, {
      error: "must be of the form <name>=<value>,… with values percent-encoded",
    }),
  );

/** Every setting of the Worker: variables and secrets, all of them text. */
const settingsSchema = z
  .object({
    /** The language model: `demo`, `anthropic:<model>`, `openai:<model>` … */
    MODEL: z.string().default("demo"),
    /** The model's endpoint, including `/v1`. Anthropic and OpenAI have a default. */
    MODEL_BASE_URL: z
      .url({ protocol: /^https?$/, error: "must be the endpoint's URL, /v1 included" })
      .optional(),
    /** The key for that endpoint. Required for Anthropic and OpenAI. */
    MODEL_API_KEY: z.string().min(1).optional(),
    /** Prepended to every agent's instructions. */
    INSTRUCTIONS: z.string().optional(),
    /** The agent that answers if a request names none. */
    AGENT: z.string().optional(),
    /** How requests authenticate. Unset: every request is rejected. */
    AUTH: z.enum(["none", "bearer", "jwt"], { error: "must be none, bearer or jwt" }).optional(),
    /** Keys for `AUTH=bearer`: `{"<key>": "<tenant>"}`. */
    API_KEYS: json(apiKeys).optional(),
    JWT_SECRET: secret.optional(),
    /** Alternatively: the URL of the issuer's public keys. */
    JWT_JWKS_URL: jwksUrl.optional(),
    /** The required `iss` of a token. */
    JWT_ISSUER: z.string().optional(),
    /** The required `aud` of a token, or one of its elements. */
    JWT_AUDIENCE: z.string().optional(),
    /** The claim that names the tenant. */
    JWT_TENANT_CLAIM: z.string().optional(),
    /** The secret that tickets are signed with. Default: a key derived from `API_KEYS` or `JWT_SECRET`. */
    TICKET_SECRET: secret.optional(),
    /** MCP servers whose tools the agents may use: `[{name, url, headers?, agents?, tools?}]`. */
    MCP_SERVERS: json(mcpServers).optional(),
    /** Sent by the listener in front, for `AUTH=none`. `npm start` creates one. */
    LOCAL_SECRET: z.string().optional(),
    /** Location of new conversations. Default: near the client that creates them. */
    LOCATION_HINT: locationHint.optional(),
    /** The jurisdiction that conversations stay in. After a change, existing conversations are not found. */
    JURISDICTION: z
      .enum(JURISDICTIONS, { error: `must be ${JURISDICTIONS.join(", ")}` })
      .optional(),
    /** `keep`: values in the bucket that are deleted stay in `deleted/` there, for a recovery. */
    DELETED_VALUES: z.enum(["delete", "keep"], { error: "must be delete or keep" }).optional(),
    /** Origins whose pages may call the Worker, separated by commas. */
    CORS_ORIGINS: origins.optional(),
    /** `turns`: one line of JSON for each turn, without values. */
    LOG: z.enum(["turns", "off"], { error: "must be turns or off" }).default("turns"),
    /** An OpenTelemetry collector (OTLP/HTTP). Spans are sent to `<endpoint>/v1/traces`. */
    OTEL_EXPORTER_OTLP_ENDPOINT: plainUrl.optional(),
    /** Headers for the collector, such as a key: `<name>=<value>,…`, percent-encoded. */
    OTEL_EXPORTER_OTLP_HEADERS: otlpHeaders.default({}),
    /** `service.name` of the spans. */
    OTEL_SERVICE_NAME: z.string().default("byref"),
  })
  .superRefine((settings, context) => {
    const need = (name: keyof typeof settings, why: string) =>
      context.addIssue({ code: "custom", path: [name], message: `must be set: ${why}` });
    if (settings.AUTH === "bearer" && settings.API_KEYS === undefined) {
      need(
        "API_KEYS",
        'AUTH=bearer needs keys, as JSON: {"<key>": "<tenant>"}. On your own machine AUTH=none needs none, as in wrangler dev --var AUTH:none',
      );
    }
    if (settings.AUTH !== "jwt") return;
    if ((settings.JWT_SECRET === undefined) === (settings.JWT_JWKS_URL === undefined)) {
      need("JWT_SECRET", "AUTH=jwt needs it or JWT_JWKS_URL, one of the two");
    }
    const { JWT_JWKS_URL, JWT_TENANT_CLAIM, JWT_ISSUER, JWT_AUDIENCE } = settings;
    if (JWT_TENANT_CLAIM === undefined) need("JWT_TENANT_CLAIM", "it names the tenant, e.g. sub");
    // The issuer signs tokens for other audiences too, and its keys may be shared with other issuers.
    if (JWT_JWKS_URL === undefined) return;
    if (JWT_ISSUER === undefined) need("JWT_ISSUER", "JWT_JWKS_URL needs it");
    if (JWT_AUDIENCE === undefined) need("JWT_AUDIENCE", "JWT_JWKS_URL needs it");
  });

/** The settings by name, checked and parsed: JSON values, lists as arrays. */
export type Settings = z.infer<typeof settingsSchema>;

/** The names of all settings; nothing else in the environment reaches the Worker. */
export const settingNames: readonly string[] = Object.keys(settingsSchema.shape);

/**
 * Reads and checks the settings, except `MODEL` (see `modelNamed`). Throws `bad_configuration`, whose message
 * names the settings and contains no values.
 */
export function readSettings(env: Readonly<Record<string, unknown>>): Settings {
  const given = settingNames.filter((name) => typeof env[name] === "string" && env[name] !== "");
  const pairs = given.map((name) => [name, env[name]]);
  const result = settingsSchema.safeParse(Object.fromEntries(pairs));
  if (result.success) return result.data;
  const messages = result.error.issues.map(
    ({ path, message }) => `${path.map(String).join(".")} ${message}`,
  );
  throw new ByrefError("bad_configuration", `${messages.join("; ")}.`);
}

const known = new WeakMap<object, Settings>();

/** Returns the settings of the Worker's own environment, which does not change. Cached. */
export function settingsOf(env: object): Settings {
  const settings = known.get(env) ?? readSettings({ ...env });
  known.set(env, settings);
  return settings;
}

/**
 * Throws `bad_configuration` unless each limit that an application sets is a number from 0 on. `Number` of a
 * variable that is not set is none, and compares with nothing.
 */
export function requireNumbers<Limits extends object>(name: string, limits: Limits): Limits {
  for (const [key, value] of Object.entries(limits)) {
    if (value === undefined || Number(value) >= 0) continue;
    const message = `${name}.${key} must be a number from 0 on, not ${String(value)}.`;
    throw new ByrefError("bad_configuration", message);
  }
  return limits;
}
