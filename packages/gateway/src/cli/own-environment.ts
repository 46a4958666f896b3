import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import type { ProgramAddress } from "../configuration.ts";
import { SECRET_NAME } from "../servers/secrets.ts";

/** Variables that clients set for each server that they start. */
const OF_CLIENTS = [
  "CLAUDE_PROJECT_DIR",
  "CLAUDE_PLUGIN_ROOT",
  "CLAUDE_PLUGIN_DATA",
  "WORKSPACE_FOLDER_PATHS",
];

/**
 * Returns the environment of a server: what clients give to servers, and its own variables. On Windows names that
 * differ in case are one variable: `Path` in a configuration takes the place of `PATH`.
 */
export function environmentFor(
  { env, inherits }: Pick<ProgramAddress, "env" | "inherits">,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const own = ownEnvironment();
  const ofClient = OF_CLIENTS.flatMap((name) => (name in own ? [[name, own[name] ?? ""]] : []));
  const given: Readonly<Record<string, string>> =
    inherits === true ? own : { ...getDefaultEnvironment(), ...Object.fromEntries(ofClient) };
  if (platform !== "win32") return { ...given, ...env };
  const known = new Map(Object.keys(given).map((name) => [name.toUpperCase(), name]));
  const renamed = Object.entries(env).map(([name, value]) => [
    known.get(name.toUpperCase()) ?? name,
    value,
  ]);
  return { ...given, ...Object.fromEntries(renamed) };
}

/** Leaves out the variables that tell `npx` what to run: a nested `npx` would run the same package. */
function ownEnvironment(): Record<string, string> {
  const { npm_config_package: _package, npm_config_call: _call, ...own } = process.env;
  // A process has no variables without a value.
  return own as Record<string, string>;
}

export function ownSecrets(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(ownEnvironment()).filter(([name]) => SECRET_NAME.test(name)),
  );
}
