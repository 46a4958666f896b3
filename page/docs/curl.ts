/** A request of the page, which can be shown as a `curl` command. */
export interface TriedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined for a request without a body. */
  readonly body: string | undefined;
}

/** Formats the request as a shell command. It does not contain the key: the shell reads it from `$BYREF_KEY`. */
export function curlOf({ method, url, headers, body }: TriedRequest, hasKey: boolean): string {
  const parts = ["curl", quoted(url)];
  if (method !== (body === undefined ? "GET" : "POST")) parts.push("-X", method);
  if (hasKey) parts.push("-H", '"authorization: Bearer $BYREF_KEY"');
  for (const [name, value] of Object.entries(headers))
    parts.push("-H", quoted(`${name}: ${value}`));
  if (body !== undefined) parts.push("--data-binary", quoted(body));
  return parts.join(" ");
}

/** Within single quotes, the quote itself is the only special character. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
