import * as limits from "../limits.ts";
import * as z from "zod";
import { ByrefError } from "../errors.ts";
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
  return value.length <= limits.maxTenantChars && value.isWellFormed();
}

/** At least as long as an HMAC-SHA-256. A PEM is rejected: a public key is not a secret. */
const secret = z
  .string()
  .regex(/^(?!\s*-----BEGIN)[^]{32,}$/, "must be a secret of at least 32 characters, and no PEM");

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

const origins = z
  .string()
  .transform((text) => text.split(",").map((origin) => origin.trim()))
  .refine((origins) => origins.every(isOrigin), {
    error: "must be origins, by comma: https://app.example, http://localhost:5173",
  });

/** True for an origin in the form that browsers send. */
function isOrigin(text: string): boolean {
  return /^https?:[^*]+$/.test(text) && URL.parse(text)?.origin === text;
}

const MCP_NAME = "must be a name of up to 32 letters, digits and _, a letter first";
const mcpLabels = z.strictObject({
  sealed: z.boolean().optional(),
  trusted: z.boolean().optional(),
  approval: z.boolean().optional(),
});

/** A URL without credentials, which belong in headers. */
const plainUrl = z
  .url({ protocol: /^https?$/, error: "must be a URL, http or https", abort: true })
  .refine((url) => new URL(url).username + new URL(url).password === "", {
    error: "must hold no user and password: put them into headers",
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
      tools: z.record(z.string(), mcpLabels).optional(),
    }),
    { error: 'must be a JSON array: [{"name": "<name>", "url": "<url>"}]' },
  )
  .refine((servers) => new Set(servers.map(({ name }) => name)).size === servers.length, {
    error: "must give each server a name of its own",
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
    return Object.fromEntries(pairs.map(otlpHeader));
  })
  .pipe(
    z.custom<Readonly<Record<string, string>>>(isHeaders, {
      error: "must be of the form <name>=<value>,… with values percent-encoded",
    }),
  );

function otlpHeader(pair: string): readonly [name: string, value: string | undefined] {
  const at = pair.indexOf("=");
  if (at === -1) return ["", undefined];
  const name = pair.slice(0, at).trim();
  try {
    return [name, decodeURIComponent(pair.slice(at + 1).trim())];
  } catch {
    return [name, undefined];
  }
}

/** Every setting of the Worker: variables and secrets, all of them text. */
const settingsSchema = z
  .object({
    MODEL: z
      .string()
      .default("demo")
      .describe("The language model: demo, anthropic:<model>, openai:<model> …"),
    MODEL_BASE_URL: z
      .url({ protocol: /^https?$/, error: "must be the endpoint's URL, /v1 included" })
      .optional()
      .describe("The model's endpoint, /v1 included; anthropic and openai have one of their own"),
    MODEL_API_KEY: z
      .string()
      .min(1)
      .optional()
      .describe("The key of that endpoint; anthropic and openai need one"),
    INSTRUCTIONS: z.string().optional().describe("Put in front of every agent's instructions"),
    AGENT: z.string().optional().describe("The agent that answers when a request names none"),
    AUTH: z
      .enum(["none", "bearer", "jwt"], { error: "must be none, bearer or jwt" })
      .optional()
      .describe("Who may come in; unset, nobody"),
    API_KEYS: json(apiKeys).optional().describe('With AUTH=bearer: {"<key>": "<tenant>"}'),
    JWT_SECRET: secret.optional().describe("With AUTH=jwt: what tokens are signed with, by HS256"),
    JWT_JWKS_URL: jwksUrl.optional().describe("Or: where the public keys of their issuer are"),
    JWT_ISSUER: z.string().optional().describe("What iss of a token must be"),
    JWT_AUDIENCE: z.string().optional().describe("What aud of a token must be, or hold"),
    JWT_TENANT_CLAIM: z.string().optional().describe("The claim that names the tenant"),
    TICKET_SECRET: secret
      .optional()
      .describe("What tickets are signed with; unset, a key made of API_KEYS or JWT_SECRET"),
    MCP_SERVERS: json(mcpServers)
      .optional()
      .describe(
        "MCP servers whose tools the agents have: [{name, url, headers?, agents?, tools?}]",
      ),
    LOCAL_SECRET: z
      .string()
      .optional()
      .describe("With AUTH=none: what the listener in front sends along; npm start makes one"),
    LOCATION_HINT: locationHint
      .optional()
      .describe("Where new conversations should live; unset, near to whoever makes them"),
    JURISDICTION: z
      .enum(JURISDICTIONS, { error: `must be ${JURISDICTIONS.join(", ")}` })
      .optional()
      .describe("Out of which no conversation gets. Changed, it leaves behind those there are"),
    CORS_ORIGINS: origins.optional().describe("Origins that may call from a browser, by comma"),
    LOG: z
      .enum(["turns", "off"], { error: "must be turns or off" })
      .default("turns")
      .describe("turns: a line of JSON for each turn, without values; or off"),
    OTEL_EXPORTER_OTLP_ENDPOINT: plainUrl
      .optional()
      .describe("An OpenTelemetry collector, by OTLP/HTTP: spans go to <endpoint>/v1/traces"),
    OTEL_EXPORTER_OTLP_HEADERS: otlpHeaders
      .default({})
      .describe("What is sent along to it, e.g. a key: <name>=<value>,… percent-encoded"),
    OTEL_SERVICE_NAME: z.string().default("byref").describe("service.name of the spans"),
  })
  .superRefine((settings, context) => {
    const need = (name: keyof typeof settings, why: string) =>
      context.addIssue({ code: "custom", path: [name], message: `must be set: ${why}` });
    if (settings.AUTH === "bearer" && settings.API_KEYS === undefined) {
      need("API_KEYS", 'AUTH=bearer needs keys, as JSON: {"<key>": "<tenant>"}');
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
  const result = settingsSchema.safeParse(
    Object.fromEntries(given.map((name) => [name, env[name]])),
  );
  if (result.success) return result.data;
  const messages = result.error.issues.map(
    ({ path, message }) => `${path.map(String).join(".")} ${message}`,
  );
  throw new ByrefError("bad_configuration", `${messages.join("; ")}.`);
}

const known = new WeakMap<object, Settings>();

/** The same for the Worker's own environment, which does not change; cached. */
export function settingsOf(env: object): Settings {
  const settings = known.get(env) ?? readSettings({ ...env });
  known.set(env, settings);
  return settings;
}
