const TOKEN = "[!#$%&'*+.^`|~\\w-]+";
const QUOTED = String.raw`"(?:[\t\x20!\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"`;
const PARAMETER = `[ \\t]*(${TOKEN})=(${TOKEN}|${QUOTED})`;
const MEDIA_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})((?:[ \\t]*;(?:${PARAMETER})?)*)$`);

/** A media type (RFC 9110, section 8.3.1) or media range. */
export interface MediaType {
  /** Type and subtype in lower case. */
  readonly essence: string;
  /** The text as written, with parameters. Safe in a header. */
  readonly text: string;
  /** Values by lower-case name. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** Parses a media type; undefined if the text is not exactly one. Cost: linear. */
export function parseMediaType(written: string): MediaType | undefined {
  const text = written.trim();
  const [, essence, rest = ""] = MEDIA_TYPE.exec(text) ?? [];
  if (essence === undefined) return undefined;
  const parameters = new Map<string, string>();
  for (const [, name = "", value = ""] of rest.matchAll(new RegExp(PARAMETER, "g"))) {
    const isFirst = !parameters.has(name.toLowerCase());
    if (isFirst) parameters.set(name.toLowerCase(), value.replace(/^"|\\(?=.)|"$/g, ""));
  }
  return { essence: essence.toLowerCase(), text, parameters };
}

/** True unless the type names another character set. */
export function isUtf8({ parameters }: MediaType): boolean {
  return /^(?:utf-?8|us-ascii)$/i.test(parameters.get("charset") ?? "utf-8");
}
