import { toHex } from "../value/hex.ts";
/** Variables that clients fill in from their own files: `input:key`, `workspaceFolder`, `env:NAME`. */
const OF_CLIENTS =
  /\$\{((?:input|config|command|env|workspaceFolder):[^}]+|workspaceFolder|workspaceFolderBasename|userHome|pathSeparator|\/|cwd|execPath)\}/gu;

/**
 * Returns the environment variables with which a client passes its own variables in the texts to the gateway:
 * `{BYREF_INPUT_KEY: "${input:key}"}`. A client leaves variables that it does not know unchanged.
 */
export function clientVariablesIn(texts: readonly string[]): Readonly<Record<string, string>> {
  const all = texts.flatMap((text) => [...text.matchAll(OF_CLIENTS)]);
  return Object.fromEntries(
    all.flatMap(([written, name]) => (name === undefined ? [] : [[passedAs(name), written]])),
  );
}

/** Replaces the clients' variables in the text by what the environment has for them. Others stay. */
export function fillClientVariables(
  text: string,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  return text.replaceAll(
    OF_CLIENTS,
    (written, name: string) => environment[passedAs(name)] ?? written,
  );
}

/** Names must differ in more than case, because Windows ignores case. */
function passedAs(name: string): string {
  if (name.startsWith("env:")) return name.slice("env:".length);
  const isPlain = /^[a-z]+(?:[A-Z][a-z]+)*(?::[a-z][a-z0-9_]*)?$/u.test(name);
  const letters = name.replaceAll(/[^a-z0-9]+/giu, "_").toUpperCase();
  return `BYREF_${letters}${isPlain ? "" : `_${toHex(new TextEncoder().encode(name))}`}`;
}
