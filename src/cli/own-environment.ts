/** The environment variables of this process, for another program. */
export function ownEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || OF_NPX.has(name) ? [] : [[name, value]],
    ),
  );
}

/** Variables that tell `npx` what to run. A nested `npx` would run the same package. */
const OF_NPX: ReadonlySet<string> = new Set(["npm_config_package", "npm_config_call"]);

/** Returns the environment variables whose names suggest secrets. */
export function ownSecrets(): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(ownEnvironment()).filter(([name]) => SECRET.test(name)));
}

const SECRET = /key|token|secret|passw|credential|auth/iu;
