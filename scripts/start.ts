/**
 * Starts the local server: `npm start`. It is `wrangler dev` with a listener in front of it. Settings come from the
 * environment; see docs/guides/operating.md.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { modelKinds, modelNamed } from "../src/edge/model.ts";
import { readSettings, settingNames } from "../src/edge/settings.ts";
import { freePort, requireFree } from "./free-port.ts";
import { startFront } from "./local-front.ts";
import { ensurePage } from "./page.ts";
import { startSideServer } from "./side-server.ts";
import { portFromEnvironment, runStartScript } from "./start-script.ts";
import { lockState } from "./state-lock.ts";
import { spawnTied, type TiedProcess } from "./tied-process.ts";

const root = join(import.meta.dirname, "..");
const stateDir = process.env.STATE_DIR ?? ".wrangler/state";
const auth = process.env.AUTH || "none";
const settings: NodeJS.ProcessEnv = { ...process.env, AUTH: auth, LOCAL_SECRET: undefined };

/**
 * The Worker receives wrangler's environment, so wrangler receives little of this process's. It sends no metrics. The
 * explorer, which would show every object to anyone who reaches the port, is off, and so is its store of traces.
 */
const WRANGLER_ENVIRONMENT = {
  WRANGLER_SEND_METRICS: "false",
  X_LOCAL_EXPLORER: "false",
  X_LOCAL_OBSERVABILITY: "false",
  CLOUDFLARE_INCLUDE_PROCESS_ENV: "true",
  NO_COLOR: "1",
  CI: "1",
};
const PASSED = /^(?:PATH|HOME|TMPDIR|XDG_.*|CLOUDFLARE_.*|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+)$/;

await runStartScript(async (stopping) => {
  const port = portFromEnvironment();
  modelNamed(readSettings(settings), modelKinds);
  const ip = auth === "none" ? "127.0.0.1" : "0.0.0.0";
  await requireFree(port, ip);
  const { mark, release } = await lockState(stateDir, port);
  await ensurePage();
  const innerPort = await freePort();
  const secret = randomBytes(32).toString("hex");
  const own = { LOCAL_SECRET: secret, LOCAL_SIDE: await startSideServer(mark) };
  const wrangler = startWrangler(innerPort, { ...own, ...mark });
  stopping.addEventListener("abort", () => void wrangler.stop());
  if (stopping.aborted) void wrangler.stop();
  try {
    await untilReady(innerPort, wrangler);
    await startFront({ port, ip, innerPort, secret });
    const url = `http://localhost:${port}`;
    console.log(`ready ${url}`);
    console.log(`\nOpen ${url} in a browser, or ask from here:\n\n  ${exampleFor(url)}\n`);
    console.log(`Ctrl-C stops it; the conversations stay in ${stateDir}.`);
    const code = await wrangler.exited;
    if (!stopping.aborted) console.error("wrangler has ended, so the server stops.");
    return code === 0 ? 1 : code;
  } finally {
    await wrangler.stop();
    await release();
  }
});

function exampleFor(url: string): string {
  const key = auth === "none" ? "" : ` -H 'authorization: Bearer <key>'`;
  return `curl ${url}/conversations/first/messages${key} -H 'accept: text/plain' --json '{"message": "What is the weather in NYC?"}'`;
}

/** Rejects with wrangler's output if it ends before the Worker responds. */
async function untilReady(port: number, { child, lastOutput }: TiedProcess): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const response = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
    if (response?.ok === true) return;
    await wait(100);
  }
  throw new Error(`The local Worker did not start.\n${lastOutput()}`);
}

/** Starts `wrangler dev` with this script's own entries in its environment, and prints a line for each turn. */
function startWrangler(port: number, own: NodeJS.ProcessEnv): TiedProcess {
  const toml = readFileSync(join(root, "wrangler.toml"), "utf8");
  // Another Worker, or one without code, runs as it is configured.
  const isOwn = toml.includes('\nmain = "src/index.ts"') && toml.includes('\nbinding = "LOADER"');
  const parameters = [
    ...(isOwn ? ["scripts/local/worker.ts"] : []),
    `--port=${port}`,
    "--ip=127.0.0.1",
    `--persist-to=${resolve(stateDir)}`,
    // Not `.dev.vars`: settings are in the environment, which other users cannot read.
    "--env-file=/dev/null",
    "--inspector-port=0",
    "--show-interactive-dev-session=false",
    "--log-level=log",
  ];
  const passed = Object.entries(process.env).filter(([name]) => PASSED.test(name));
  const given = settingNames
    .map((name) => [name, settings[name]] as const)
    .filter(([, value]) => value !== undefined && value !== "");
  const env = { ...Object.fromEntries([...passed, ...given]), ...WRANGLER_ENVIRONMENT, ...own };
  const program = join(root, "node_modules/wrangler/bin/wrangler.js");
  const started = spawnTied([process.execPath, program, "dev", ...parameters], {
    cwd: root,
    outputs: ["pipe", "pipe"],
    env,
  });
  // Forwards the Worker's events, without colours. Other output is wrangler's own.
  for (const input of [started.child.stdout, started.child.stderr]) {
    if (input === null) continue;
    createInterface({ input }).on("line", (line) => {
      const [event] = /\{"event":.*\}/.exec(line) ?? [];
      if (event !== undefined) console.log(event);
    });
  }
  return started;
}
