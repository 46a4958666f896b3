/** Shorter values are unlikely to be secrets, and redacting them would remove ordinary words. */
const MIN_SECRET_CHARS = 6;

/** Returns texts that may be keys, their words, and parameters of those that are URLs; the longest first. */
export function secretsIn(texts: readonly string[]): readonly string[] {
  const words = texts.flatMap((text) => text.split(/[\s;,=]+/));
  const urls = texts.filter((text) => URL.canParse(text)).map((text) => new URL(text));
  const parts = urls.flatMap(({ href, searchParams }) => [href, ...searchParams.values()]);
  return [...texts, ...words, ...parts]
    .filter((secret) => secret.length >= MIN_SECRET_CHARS)
    .sort((a, b) => b.length - a.length);
}

/** Replaces the secrets in a text. */
export function redact(text: string, secrets: readonly string[]): string {
  return secrets.reduce((all, secret) => all.replaceAll(secret, "[secret]"), text);
}
