/** The environment variables of this process, for another program. */
export function ownEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || OF_NPX.has(name) ? [] : [[name, value]],
    ),
  );
}

/** What `npx` was told to run: one that it starts would run the same. */
const OF_NPX: ReadonlySet<string> = new Set(["npm_config_package", "npm_config_call"]);

/** Those that are secrets by their names. */
export function ownSecrets(): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(ownEnvironment()).filter(([name]) => SECRET.test(name)));
}

const SECRET = /key|token|secret|passw|credential|auth/iu;
