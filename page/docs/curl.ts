/** A request as the page and `curl` send it. */
export interface TriedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: none. */
  readonly body: string | undefined;
}

/** The request as a line for a shell. A key is not part of it: the shell takes it from `$BYREF_KEY`. */
export function curlOf({ method, url, headers, body }: TriedRequest, hasKey: boolean): string {
  const parts = ["curl", quoted(url)];
  if (method !== (body === undefined ? "GET" : "POST")) parts.push("-X", method);
  if (hasKey) parts.push("-H", '"authorization: Bearer $BYREF_KEY"');
  for (const [name, value] of Object.entries(headers))
    parts.push("-H", quoted(`${name}: ${value}`));
  if (body !== undefined) parts.push("--data-binary", quoted(body));
  return parts.join(" ");
}

/** Nothing is special between single quotes but the quote itself. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
