/** The path of a variable's value, to which a message links in place of a person's file. */
export function variableUrl(conversation: string, name: string): string {
  return `/conversations/${conversation}/variables/${name}`;
}

/** The variable that such a path of this conversation names. Undefined for any other URL. */
export function variableAt(url: string, conversation: string): string | undefined {
  const start = variableUrl(conversation, "");
  const name = url.startsWith(start) ? url.slice(start.length) : "";
  return /^[^/?#]+$/u.test(name) ? name : undefined;
}
