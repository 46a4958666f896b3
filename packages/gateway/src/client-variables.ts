import { encoding } from "../../../src/internal.ts";

/** What stands for another text: `${…}`. */
export const PLACEHOLDER = /\$\{([^}]+)\}/gu;

/** Variables that clients fill in from their own files: `input:key`, `workspaceFolder`, `env:NAME`. */
const OF_CLIENTS =
  /^(?:(?:input|config|command|workspaceFolder):(?!-).+|env:(?!.*:-).+|workspaceFolder|workspaceFolderBasename|userHome|pathSeparator|\/|cwd|execPath)$/su;

/**
 * Returns the environment variables with which a client passes its own variables in the texts to the gateway:
 * `{BYREF_INPUT_KEY: "${input:key}"}`. A client leaves variables that it does not know unchanged.
 */
export function clientVariablesIn(texts: readonly string[]): Readonly<Record<string, string>> {
  const all = texts.flatMap((text) => [...text.matchAll(PLACEHOLDER)]);
  return Object.fromEntries(
    all.flatMap(([written, name = ""]) =>
      OF_CLIENTS.test(name) ? [[passedAs(name), written]] : [],
    ),
  );
}

/** Returns what the environment has for a client's variable. Undefined for other names. */
export function clientVariable(
  name: string,
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  return OF_CLIENTS.test(name) ? environment[passedAs(name)] : undefined;
}

/** Names must differ in more than case, because Windows ignores case. */
function passedAs(name: string): string {
  if (name.startsWith("env:")) return name.slice("env:".length);
  const isPlain = /^[a-z]+(?:[A-Z][a-z]+)*(?::[a-z][a-z0-9_]*)?$/u.test(name);
  const letters = name.replaceAll(/[^a-z0-9]+/giu, "_").toUpperCase();
  return `BYREF_${letters}${isPlain ? "" : `_${encoding.toHex(new TextEncoder().encode(name))}`}`;
}
