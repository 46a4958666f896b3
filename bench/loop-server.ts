import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../scripts/local-worker.ts";

const root = join(import.meta.dirname, "..");
const STARTS_WITHIN_MS = 20_000;

export interface LoopServer<Side extends string> {
  readonly urls: Readonly<Record<Side, string>>;
  readonly pid: number | undefined;
  stop(): void;
}

/** The Worker of `loop-worker.ts` on plain workerd: an isolate and a folder for each side, one process. */
export async function startLoop<Side extends string>(
  sides: readonly Side[],
): Promise<LoopServer<Side>> {
  const folder = mkdtempSync(join(tmpdir(), "byref-bench-"));
  const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");
  const bundling = ["deploy", "--dry-run", "--config=bench/loop.toml", `--outdir=${folder}`];
  execFileSync(process.execPath, [wrangler, ...bundling, "--minify"], {
    cwd: root,
    stdio: "pipe",
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1" },
  });
  const placed: { readonly side: Side; readonly port: number }[] = [];
  for (const side of sides) placed.push({ side, port: await freePort() });
  for (const side of sides) mkdirSync(join(folder, side));
  const config = join(folder, "config.capnp");
  writeFileSync(config, configFor(placed, folder));
  const workerd = join(root, "node_modules/workerd/bin/workerd");
  const child = spawn(workerd, ["serve", config], { stdio: ["ignore", "inherit", "inherit"] });
  const stop = () => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", stop);
  const urls = Object.fromEntries(
    placed.map(({ side, port }) => [side, `http://127.0.0.1:${port}`]),
  );
  for (const url of Object.values(urls)) await ready(`${url}/health`);
  // Made from `sides` just above.
  return { urls: urls as Record<Side, string>, pid: child.pid, stop };
}

function configFor(
  placed: readonly { readonly side: string; readonly port: number }[],
  folder: string,
): string {
  const classes = { CONVERSATIONS: "Conversation", BARE: "Bare", RAW: "Raw" };
  const names = Object.values(classes);
  const namespaces = names.map(
    (name) => `(className="${name}", uniqueKey="${name}", enableSql=true)`,
  );
  const bindings = Object.entries(classes).map(
    ([binding, name]) => `(name="${binding}", durableObjectNamespace="${name}")`,
  );
  const services = placed.map(
    ({ side }) => `(name="${side}", worker=(
      modules=[(name="worker", esModule=embed "loop-worker.js")],
      compatibilityDate="2026-10-01",
      durableObjectNamespaces=[${namespaces.join()}],
      durableObjectStorage=(localDisk="${side}-disk"),
      bindings=[${bindings.join()}, (name="AUTH", text="none")]
    )), (name="${side}-disk", disk=(path="${join(folder, side)}", writable=true))`,
  );
  const sockets = placed.map(
    ({ side, port }) => `(name="${side}", address="127.0.0.1:${port}", http=(), service="${side}")`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services=[${services.join()}], sockets=[${sockets.join()}]);`;
}

async function ready(url: string): Promise<void> {
  const endMs = performance.now() + STARTS_WITHIN_MS;
  for (;;) {
    const response = await fetch(url).catch(() => undefined);
    await response?.body?.cancel();
    if (response !== undefined) return;
    if (performance.now() > endMs) throw new Error("workerd did not start.");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
