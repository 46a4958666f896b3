import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { workerSettings } from "../../../../src/internal-edge.ts";
import { messageOf } from "../../../../src/errors.ts";
import { type PageFile, pageFiles } from "./page-files.ts";

export interface BundleOptions {
  /** The folder of `wrangler.toml`, with wrangler among its packages. */
  readonly project: string;
  readonly folder: string;
}

interface WorkerConfig {
  readonly main?: string;
  readonly compatibility_date?: string;
  readonly compatibility_flags: readonly string[];
  readonly assets?: { readonly directory?: string };
  readonly vars: Readonly<Record<string, unknown>>;
  readonly secrets?: { readonly required?: readonly string[] };
  readonly durable_objects: {
    readonly bindings: readonly { readonly name: string; readonly class_name: string }[];
  };
}

const MARK = "config.capnp";

const CLOUD_ONLY =
  "ai r2_buckets worker_loaders ratelimits kv_namespaces d1_databases queues services analytics_engine_datasets";

/**
 * Bundles a Worker for plain workerd: `index.js`, `main.js`, the page in `web`, `config.capnp`, and
 * `settings.json` with the `[vars]` of `wrangler.toml`. No secret is written. Throws if the project has no
 * wrangler, or if wrangler fails. `leftOut`: bindings of `wrangler.toml` that plain workerd does not have.
 */
export async function bundleWorker({ project, folder }: BundleOptions) {
  const target = resolve(folder);
  requireOwn(target);
  const wrangler = wranglerOf(project);
  const config = await configOf(project, wrangler);
  mkdirSync(dirname(target), { recursive: true });
  // Whole, or not there.
  const made = mkdtempSync(`${target}-`);
  try {
    runWrangler(project, wrangler, made);
    nameMain(made, basename(config.main ?? "index.ts").replace(/\.\w+$/, ""));
    const page = copyAssets(config, project, join(made, "web"));
    const settings = settingsOf(config);
    writeFileSync(join(made, "main.js"), mainWith(page));
    writeFileSync(join(made, "settings.json"), JSON.stringify(settings));
    writeFileSync(join(made, MARK), capnpOf(config, page, settings.names));
    chmodSync(made, 0o755);
    rmSync(target, { recursive: true, force: true });
    renameSync(made, target);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    throw error;
  }
  return { leftOut: leftOutOf(config) };
}

/** A bundle replaces a bundle, and nothing else. */
function requireOwn(folder: string): void {
  const inside = existsSync(folder) ? readdirSync(folder) : [];
  if (inside.length === 0 || inside.includes(MARK)) return;
  throw new Error(`${folder} is not empty, and is not a bundle. Name another folder.`);
}

/** Leaves `index.js`. Throws if wrangler wrote modules beside it. */
function nameMain(made: string, main: string): void {
  for (const name of ["README.md", `${main}.js.map`]) rmSync(join(made, name), { force: true });
  renameSync(join(made, `${main}.js`), join(made, "index.js"));
  const others = readdirSync(made).filter((name) => name !== "index.js");
  if (others.length === 0) return;
  throw new Error(`byref bundle takes modules of JavaScript only, not ${others.join(", ")}.`);
}

function copyAssets({ assets }: WorkerConfig, project: string, web: string): readonly PageFile[] {
  if (assets?.directory === undefined) return [];
  cpSync(resolve(project, assets.directory), web, { recursive: true });
  return pageFiles(web);
}

function wranglerOf(project: string): string {
  try {
    return createRequire(join(resolve(project), "package.json")).resolve("wrangler");
  } catch {
    throw new Error(
      `There is no wrangler in ${resolve(project)}: npm install --save-dev wrangler, or start byref bundle in the Worker's folder.`,
    );
  }
}

async function configOf(project: string, wrangler: string): Promise<WorkerConfig> {
  const { unstable_readConfig: read } = (await import(pathToFileURL(wrangler).href)) as {
    readonly unstable_readConfig: (args: { readonly config: string }) => WorkerConfig;
  };
  const found = ["wrangler.toml", "wrangler.jsonc", "wrangler.json"].find((name) =>
    readdirSync(project).includes(name),
  );
  if (found === undefined) throw new Error(`There is no wrangler.toml in ${resolve(project)}.`);
  return read({ config: join(project, found) });
}

function runWrangler(project: string, wrangler: string, folder: string): void {
  const program = join(dirname(wrangler), "../bin/wrangler.js");
  const args = [program, "deploy", "--dry-run", "--minify", `--outdir=${folder}`];
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1" };
  const options = { cwd: project, env, encoding: "utf8" } as const;
  const { status, stderr, error } = spawnSync(process.execPath, args, options);
  if (status === 0) return;
  const why = stderr || messageOf(error ?? `It ended with ${status}.`);
  throw new Error(`wrangler could not bundle the Worker:\n${why}`);
}

/** Settings of Byref, `[vars]`, and the secrets that `wrangler.toml` requires. Values that are no texts are JSON. */
function settingsOf({ vars, secrets }: WorkerConfig) {
  const texts = Object.entries(vars).map(
    ([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)] as const,
  );
  const names = new Set([
    ...workerSettings.settingNames,
    ...Object.keys(vars),
    ...(secrets?.required ?? []),
  ]);
  return { vars: Object.fromEntries(texts), names: [...names] };
}

function leftOutOf(config: WorkerConfig): readonly string[] {
  const given = config as unknown as Readonly<Record<string, unknown>>;
  return CLOUD_ONLY.split(" ").filter((name) =>
    /"(?:binding|name)":/.test(JSON.stringify(given[name]) ?? ""),
  );
}

/**
 * The main module: the page's files, then the Worker. The files are modules, because a disk service of
 * workerd would serve them without their types.
 */
function mainWith(page: readonly PageFile[]): string {
  const imports = page.map(({ name }, index) => `import file${index} from "./web/${name}";`);
  const files = page.map(
    ({ path, headers }, index) =>
      `  [${JSON.stringify(path)}, { body: file${index}, headers: ${JSON.stringify(headers)} }],`,
  );
  return `import worker from "./index.js";
${imports.join("\n")}
export * from "./index.js";

const files = new Map([
${files.join("\n")}
]);

export default {
  ...worker,
  fetch(request, env, context) {
    const isRead = request.method === "GET" || request.method === "HEAD";
    const file = isRead ? files.get(new URL(request.url).pathname) : undefined;
    if (file === undefined) return worker.fetch(request, env, context);
    const body = request.method === "HEAD" ? null : file.body;
    return new Response(body, { headers: file.headers });
  },
};
`;
}

/** The port, the folder of objects and the settings are passed when workerd starts. */
function capnpOf(
  config: WorkerConfig,
  page: readonly PageFile[],
  names: readonly string[],
): string {
  const objects = config.durable_objects.bindings;
  const classes = new Set(objects.map(({ class_name: name }) => name));
  const bindings = [
    ...objects.map(
      ({ name, class_name: of }) => `(name = "${name}", durableObjectNamespace = "${of}")`,
    ),
    ...names.map((name) => `(name = "${name}", fromEnvironment = "${name}")`),
  ];
  const namespaces = Array.from(
    classes,
    (name) => `(className = "${name}", uniqueKey = "byref-${name}", enableSql = true)`,
  );
  const files = page.map(({ name }) => `(name = "web/${name}", data = embed "web/${name}"),`);
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "worker", worker = .worker),
    (name = "objects", disk = (writable = true)),
    # Models and MCP servers may be on this machine, or on its network.
    (name = "internet", network = (
      allow = ["public", "private"],
      tlsOptions = (trustBrowserCas = true)
    )),
  ],
  sockets = [(name = "http", http = (), service = "worker")],
);

const worker :Workerd.Worker = (
  modules = [
    (name = "main.js", esModule = embed "main.js"),
    (name = "index.js", esModule = embed "index.js"),
    ${files.join("\n    ")}
  ],
  compatibilityDate = "${config.compatibility_date}",
  compatibilityFlags = ${JSON.stringify(config.compatibility_flags)},
  durableObjectNamespaces = [
    ${namespaces.join(",\n    ")},
  ],
  durableObjectStorage = (localDisk = "objects"),
  bindings = [
    ${bindings.join(",\n    ")},
  ],
);
`;
}
