import { type NamedText, SECRET_NAME, secretsIn } from "../../../src/tool/mcp/secrets.ts";
import type { ServerConfiguration } from "./configuration.ts";

/**
 * Returns the secrets in a server's address, for `redact`: what looks like one in its headers, environment, URL and
 * arguments, and what the configuration names; each also as a URL and JSON write it.
 */
export function secretsOf({
  address,
  secrets: names = [],
}: Pick<ServerConfiguration, "address" | "secrets">): readonly string[] {
  const given: readonly NamedText[] = Object.entries(
    "url" in address ? address.headers : address.env,
  );
  const others = "url" in address ? [["", address.url] as const] : argumentsIn(address.args);
  const named = given.filter(([name, text]) => names.includes(name) && text !== "");
  const secrets = [...named.map(([, text]) => text), ...secretsIn([...given, ...others])];
  const written = secrets.flatMap((secret) => [
    secret,
    decode(secret),
    // Others cannot be written in a URL.
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
  ]);
  return [...new Set(written)].sort((a, b) => b.length - a.length);
}

/** Returns the arguments; after an option that is named like a secret, under its name. */
function argumentsIn(args: readonly string[]): readonly NamedText[] {
  return args.map((arg, index) => {
    const before = args[index - 1] ?? "";
    const isValue = /^--?[\w-]+$/u.test(before) && SECRET_NAME.test(before) && !arg.startsWith("-");
    return [isValue ? before : "", arg];
  });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the value with `redact` applied to each text in it. */
export function redactTexts<Value extends object>(
  redact: (text: string) => string,
  value: Value,
): Value {
  const texts = (_key: string, inner: unknown) =>
    typeof inner === "string" ? redact(inner) : inner;
  // Only texts change.
  return JSON.parse(JSON.stringify(value), texts) as Value;
}
