import { execFileSync, spawn } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../scripts/local-worker.ts";

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
  /** The base URL of the inspector; append a slash and a side for its isolate. */
  readonly inspector: string;
  usage(): Usage;
  /** Bytes of all files of all objects. */
  storedBytes(): number;
  stop(): void;
}

/** Resource usage of the process, read from Linux. */
export interface Usage {
  /** Current memory, and its peak. */
  readonly bytes: number;
  readonly peakBytes: number;
  /** CPU time on all cores, including system time, to the nearest 10 ms. */
  readonly cpuMs: number;
  /** Files, sockets and pipes. */
  readonly openFiles: number;
}

/** A Worker with its own settings. */
export interface Service {
  readonly bundle: Bundle;
  readonly settings?: Readonly<Record<string, string>>;
}

/** Bundles the Worker of this configuration in `bench`. Deleted when this process ends. */
export function bundleWorker(
  config: string,
  classes: Bundle["classes"],
  { isReadable = false } = {},
): Bundle {
  const folder = temporaryFolder();
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");
  const bundling = ["deploy", "--dry-run", `--config=bench/${config}`, `--outdir=${folder}`];
  execFileSync(process.execPath, [wrangler, ...bundling, ...(isReadable ? [] : ["--minify"])], {
    cwd: root,
    stdio: "pipe",
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1" },
  });
  return { path: join(folder, "worker.js"), classes };
}

/**
 * Starts the services on plain workerd, with objects on disk: one process, with an isolate and a folder for
 * each side.
 */
export async function startWorkerd<Side extends string>(
  services: Readonly<Record<Side, Service>>,
  { inspected = false } = {},
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
  const inspector = `127.0.0.1:${await freePort()}`;
  const inspecting = inspected ? [`--inspector-addr=${inspector}`] : [];
  const child = spawn(workerd, ["serve", ...inspecting, config], {
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
    inspector: `ws://${inspector}`,
    usage: () => usageOf(child.pid),
    storedBytes: () => bytesIn(folder),
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

function usageOf(pid: number | undefined): Usage {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const bytes = (field: string) =>
    1_024 * Number(new RegExp(`${field}:\\s+(\\d+)`, "u").exec(status)?.[1]);
  // The fields after the name, which may contain spaces: user and system time are the 12th and 13th.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  const [user = 0, system = 0] = fields.slice(11, 13).map(Number);
  return {
    bytes: bytes("VmRSS"),
    peakBytes: bytes("VmHWM"),
    cpuMs: (user + system) * TICK_MS,
    openFiles: readdirSync(`/proc/${pid}/fd`).length,
  };
}

function bytesIn(folder: string): number {
  const [bytes = ""] = execFileSync("du", ["-s", "--block-size=1", folder]).toString().split("\t");
  return Number(bytes);
}

const TICK_MS = 10;

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
