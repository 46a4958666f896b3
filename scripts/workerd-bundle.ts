/**
 * Bundles the Worker for plain workerd, with its start script, for an image: `node scripts/workerd-bundle.ts
 * FOLDER`.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { unstable_readConfig } from "wrangler";
import { settingNames } from "../src/edge/settings.ts";
import { type PageFile, pageFiles } from "../src/page.ts";
import { copyPage } from "./page.ts";

const root = join(import.meta.dirname, "..");
const modules = join(root, "node_modules");

/** Writes `index.js`, `main.js`, the page and `config.capnp`. None of them contains a setting. */
export function bundleForWorkerd(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const web = join(folder, "web");
  copyPage(web);
  const wrangler = join(modules, "wrangler/bin/wrangler.js");
  const bundling = ["deploy", "--dry-run", "--minify", `--outdir=${resolve(folder)}`];
  execFileSync(process.execPath, [wrangler, ...bundling], {
    cwd: root,
    stdio: "pipe",
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1" },
  });
  for (const name of ["README.md", "index.js.map"]) rmSync(join(folder, name), { force: true });
  const page = pageFiles(web);
  writeFileSync(join(folder, "main.js"), mainWith(page));
  writeFileSync(join(folder, "config.capnp"), configFrom(join(root, "wrangler.toml"), page));
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

/** The parts of wrangler.toml that plain workerd uses. */
interface WorkerConfig {
  readonly compatibility_date: string;
  readonly compatibility_flags: readonly string[];
  readonly durable_objects: {
    readonly bindings: readonly { readonly name: string; readonly class_name: string }[];
  };
}

/** The port, the folder of objects and the settings are passed when workerd starts. */
function configFrom(wranglerToml: string, page: readonly PageFile[]): string {
  const config: WorkerConfig = unstable_readConfig({ config: wranglerToml });
  const objects = config.durable_objects.bindings;
  const classes = new Set(objects.map(({ class_name: name }) => name));
  const bindings = [
    ...objects.map(
      ({ name, class_name: of }) => `(name = "${name}", durableObjectNamespace = "${of}")`,
    ),
    ...settingNames.map((name) => `(name = "${name}", fromEnvironment = "${name}")`),
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

const [, program = "", folder] = process.argv;
if (resolve(program) === import.meta.filename) {
  if (folder === undefined)
    throw new Error("Say in which folder: scripts/workerd-bundle.ts FOLDER");
  bundleForWorkerd(folder);
  copyFileSync(join(modules, "workerd/bin/workerd"), join(folder, "workerd"));
  const start = [join(root, "scripts/start-workerd.ts"), "--bundle", "--platform=node"];
  // The code that builds the bundle is not in the image.
  const parameters = ["--format=esm", "--external:./workerd-bundle.ts"];
  const out = `--outfile=${join(folder, "start.mjs")}`;
  execFileSync(join(modules, ".bin/esbuild"), [...start, ...parameters, out], { stdio: "pipe" });
}
