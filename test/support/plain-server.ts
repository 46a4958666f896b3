import { spawn } from "node:child_process";
import { join } from "node:path";

/** The Worker on plain workerd, ready or not. */
export type PlainServer = ReturnType<typeof startPlain>;

const root = join(import.meta.dirname, "../..");

/** Passes on only PATH and HOME from this process's environment. */
export function startPlain(
  env: Readonly<Record<string, string>>,
  program: readonly string[] = ["scripts/start-workerd.ts"],
) {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, program, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH, HOME, ...env },
  });
  const ready = Promise.withResolvers<string | undefined>();
  let output = "";
  const add = (chunk: Buffer) => {
    output += chunk.toString();
    const url = /^ready (\S+)$/m.exec(output)?.[1];
    if (url !== undefined) ready.resolve(url);
  };
  child.stdout.on("data", add);
  child.stderr.on("data", add);
  const exited = new Promise<number | null>((done) => {
    child.once("close", (code) => {
      ready.resolve(undefined);
      done(code);
    });
  });
  /** `url` is undefined if the server exited before it was ready. */
  return { output: () => output, url: ready.promise, exited, child };
}

/** Stops the server and returns its exit code. */
export async function stop({ child, exited }: PlainServer): Promise<number | null> {
  child.kill("SIGTERM");
  return exited;
}
