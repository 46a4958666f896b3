import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../scripts/free-port.ts";

const root = join(import.meta.dirname, "..");
const START_TIMEOUT_MS = 20_000;
const READY_POLL_MS = 5;

/** A Worker bundled by wrangler, which can be started several times. */
export interface Bundle {
  /** The file of its main module; its other modules are in the same folder. */
  readonly path: string;
  /** Its Durable Objects: binding and class. */
  readonly classes: Readonly<Record<string, string>>;
}

export interface PlainWorkerd<Side extends string> {
  readonly urls: Readonly<Record<Side, string>>;
  stop(): void;
}

/** A Worker with its own settings. */
export interface Service {
  readonly bundle: Bundle;
  readonly settings?: Readonly<Record<string, string>>;
}

/** Bundles the Worker of this configuration in `bench`. Deleted when this process ends. */
export function bundleWorker(config: string, classes: Bundle["classes"]): Bundle {
  const folder = temporaryFolder();
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");
  const bundling = ["deploy", "--dry-run", `--config=bench/${config}`, `--outdir=${folder}`];
  execFileSync(process.execPath, [wrangler, ...bundling, "--minify"], {
    cwd: root,
    stdio: "pipe",
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1" },
  });
  return { path: join(folder, ...globSync("*.js", { cwd: folder })), classes };
}

/**
 * Starts the services on plain workerd, with objects on disk: one process, with an isolate and a folder for
 * each side.
 */
export async function startWorkerd<Side extends string>(
  services: Readonly<Record<Side, Service>>,
): Promise<PlainWorkerd<Side>> {
  const folder = temporaryFolder();
  const placed: Placed<Side>[] = [];
  for (const [side, service] of Object.entries<Service>(services)) {
    mkdirSync(join(folder, side));
    copyFileSync(service.bundle.path, join(folder, `${side}.js`));
    // It is a key of `services`.
    placed.push({ side: side as Side, port: await freePort(), service });
  }
  const config = join(folder, "config.capnp");
  writeFileSync(config, configFor(placed, folder));
  const workerd = join(root, "node_modules/workerd/bin/workerd");
  const child = spawn(workerd, ["serve", config], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const stop = () => {
    process.off("exit", stop);
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", stop);
  const urls = Object.fromEntries(
    placed.map(({ side, port }) => [side, `http://127.0.0.1:${port}`]),
  );
  for (const url of Object.values(urls)) await ready(`${url}/health`);
  return {
    // Made from `services` above.
    urls: urls as Record<Side, string>,
    stop,
  };
}

function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), "byref-bench-"));
}

interface Placed<Side extends string> {
  readonly side: Side;
  readonly port: number;
  readonly service: Service;
}

function configFor(placed: readonly Placed<string>[], folder: string): string {
  const sockets = placed.map(
    ({ side, port }) => `(name="${side}", address="127.0.0.1:${port}", http=(), service="${side}")`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services=[${placed.map((one) => serviceFor(one, folder)).join()}],
  sockets=[${sockets.join()}]
);`;
}

function serviceFor({ side, service }: Placed<string>, folder: string): string {
  const { bundle, settings = {} } = service;
  const namespaces = Object.values(bundle.classes).map(
    (name) => `(className="${name}", uniqueKey="${name}", enableSql=true)`,
  );
  const bindings = [
    ...Object.entries(bundle.classes).map(
      ([binding, name]) => `(name="${binding}", durableObjectNamespace="${name}")`,
    ),
    // Logging each turn is optional, and the other sides log nothing either.
    ...Object.entries({ AUTH: "none", LOG: "off", ...settings }).map(
      ([name, text]) => `(name="${name}", text="${text}")`,
    ),
  ];
  return `(name="${side}", worker=(
    modules=[(name="worker", esModule=embed "${side}.js")],
    compatibilityDate="2026-10-01",
    durableObjectNamespaces=[${namespaces.join()}],
    durableObjectStorage=(localDisk="${side}-disk"),
    bindings=[${bindings.join()}]
  )), (name="${side}-disk", disk=(path="${join(folder, side)}", writable=true))`;
}

async function ready(url: string): Promise<void> {
  const endMs = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const response = await fetch(url).catch(() => undefined);
    await response?.body?.cancel();
    if (response !== undefined) return;
    if (performance.now() > endMs) throw new Error("workerd did not start.");
    await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
  }
}
