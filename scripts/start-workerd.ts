/**
 * Runs the Worker on plain workerd, without wrangler: `npm run start:workerd`, also in a container. There is
 * no bucket, so values stay in SQLite; no rate limit; no `run_code`.
 */
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { messageOf } from "../src/errors.ts";
import { modelKinds, modelNamed } from "../src/edge/model.ts";
import { readSettings } from "../src/edge/settings.ts";
import { lockState } from "./state-lock.ts";
import { portFromEnvironment, runStartScript } from "./start-script.ts";
import { spawnTied, type TiedProcess } from "./tied-process.ts";

const CONFIG = "config.capnp";

/** The file descriptor on which workerd reports that it listens. */
const CONTROL = 3;

/** Variables with trusted certificates. Default: those of the system. */
const CERTIFICATE_VARIABLES = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

const { STATE_DIR = ".wrangler/workerd", WORKER_DIR = "" } = process.env;
const here = import.meta.dirname;

await runStartScript(async (stopping) => {
  const port = portFromEnvironment();
  const own = ownBundle();
  if (own === undefined) modelNamed(readSettings(process.env), modelKinds);
  const { AUTH = "" } = own === undefined ? process.env : environmentOf(own);
  if (AUTH === "") {
    throw new Error(
      "AUTH must be set: bearer or jwt; or none, which answers to this machine alone.",
    );
  }
  const { mark, release } = await lockState(STATE_DIR, port);
  const folder = own ?? (await bundle());
  const { child, exited, stop } = start(folder, port, { ...environmentOf(folder), ...mark });
  stopping.addEventListener("abort", () => void stop());
  if (stopping.aborted) void stop();
  logWhenReady(child, port).catch((error: unknown) => console.error(messageOf(error)));
  const code = await exited;
  await release();
  if (!stopping.aborted) console.error("workerd has ended.");
  return code === 0 ? 1 : code;
});

/** The bundle of the user's own Worker, in `WORKER_DIR`. In the image the folder exists if it is mounted. */
function ownBundle(): string | undefined {
  if (WORKER_DIR === "" || !existsSync(WORKER_DIR)) return undefined;
  if (existsSync(join(WORKER_DIR, CONFIG))) return resolve(WORKER_DIR);
  throw new Error(`${WORKER_DIR} has no ${CONFIG}: npx byref bundle FOLDER makes a bundle.`);
}

/** The folder of this repository's bundle: next to this script in an image, otherwise built now. */
async function bundle(): Promise<string> {
  if (existsSync(join(here, CONFIG))) return here;
  return (await import("./workerd-bundle.ts")).workerdBundle();
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The bundle's settings by name; no other environment variables. `[vars]` of its Worker are defaults. */
function environmentOf(folder: string): Environment {
  // Written by `byref bundle`.
  const { vars, names } = JSON.parse(readFileSync(join(folder, "settings.json"), "utf8")) as {
    readonly vars: Environment;
    readonly names: readonly string[];
  };
  const given = names.map((name) => [name, process.env[name] ?? vars[name]] as const);
  return { ...Object.fromEntries(given), LOCAL_SECRET: undefined };
}

function start(folder: string, port: number, env: Environment): TiedProcess {
  const objects = resolve(STATE_DIR, "objects");
  mkdirSync(objects, { recursive: true, mode: 0o700 });
  const ip = env.AUTH === "none" ? "127.0.0.1" : "0.0.0.0";
  const own = join(here, "workerd");
  const workerd = existsSync(own) ? own : join(here, "../node_modules/workerd/bin/workerd");
  const places = [
    `--socket-addr=http=${ip}:${port}`,
    `--directory-path=objects=${objects}`,
    `--control-fd=${CONTROL}`,
  ];
  // Passed in the environment, because others could read a command line or a file.
  const trusted = CERTIFICATE_VARIABLES.map((name) => [name, process.env[name]] as const);
  return spawnTied([workerd, "serve", ...places, join(folder, CONFIG)], {
    outputs: ["inherit", "inherit", "pipe"],
    env: { ...Object.fromEntries(trusted), ...env },
  });
}

/** Waits for workerd's own report, because another server may respond on the port. */
async function logWhenReady({ stdio }: ChildProcess, port: number): Promise<void> {
  const control = stdio[CONTROL] as Readable;
  for await (const text of control.setEncoding("utf8")) {
    if (!String(text).includes('"listen"')) continue;
    const { ok, status } = await fetch(`http://127.0.0.1:${port}/health`);
    console.log(ok ? `ready http://localhost:${port}` : `/health answers ${status}.`);
    return;
  }
}
