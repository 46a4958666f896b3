import { secretsIn } from "../tool/mcp/secrets.ts";
import type { ServerAddress } from "./configuration.ts";

/**
 * Returns what may be a secret in a server's address, for `redact`: headers, environment, parts of URLs, and
 * arguments that are named like secrets; each also as a URL and JSON write it.
 */
export function secretsOf(address: ServerAddress): readonly string[] {
  const given =
    "url" in address
      ? [address.url, ...Object.values(address.headers)]
      : [...Object.values(address.env), ...secretArguments(address.args)];
  // Others cannot be written in a URL.
  const texts = given.map((text) => text.toWellFormed());
  const secrets = secretsIn([...texts, ...texts.flatMap(partsOfUrl)]);
  const written = secrets.flatMap((secret) => [
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
  ]);
  return [...new Set([...secrets, ...written])].sort((a, b) => b.length - a.length);
}

function secretArguments(args: readonly string[]): readonly string[] {
  return args.flatMap((arg, index) => {
    const [written, value = args[index + 1] ?? ""] = SECRET_ARGUMENT.exec(arg) ?? [];
    return written === undefined ? [] : [value];
  });
}

const SECRET_ARGUMENT = /^--?[\w-]*(?:key|token|secret|password|auth)[\w-]*(?:=(.+))?$/i;

function partsOfUrl(text: string): readonly string[] {
  if (!URL.canParse(text)) return [];
  const { pathname, username, password } = new URL(text);
  return [username, password, ...(pathname.match(PATH_SECRET) ?? [])];
}

/** Shorter parts of a path are words. */
const PATH_SECRET = /[^/]{16,}/g;

/** Returns the value with `redact` applied to each text in it. */
export function redacted<Value extends object>(
  redact: (text: string) => string,
  value: Value,
): Value {
  const texts = (_key: string, inner: unknown) =>
    typeof inner === "string" ? redact(inner) : inner;
  // Only texts change.
  return JSON.parse(JSON.stringify(value), texts) as Value;
}
