import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { packedTarball } from "../../scripts/pack.ts";

const root = join(import.meta.dirname, "../..");
const modules = join(root, "node_modules");

/** Peer dependencies of exports that few applications use. `@mastra/core` belongs to an example. */
const otherPeers = [
  "@ai-sdk/anthropic",
  "@ai-sdk/openai",
  "@ai-sdk/openai-compatible",
  "@ai-sdk/react",
  "@types/react",
  "react",
  "workers-ai-provider",
];
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly exports: object;
};
const entries = Object.keys(exports).filter((path) => !/\*|mastra/.test(path));
/** Exports that need the types of Workers. */
const ofWorkers = new Set([".", "./durable", "./testing"]);

function importing(paths: readonly string[]): string {
  const lines = paths.map(
    (path, index) => `export * as entry${index} from "${join("byref", path)}";\n`,
  );
  return lines.join("");
}

/** Files beside those of the template `worker-only`. */
const project = {
  "src/all.ts": importing(entries),
  "src/all-in-node.ts": importing(entries.filter((path) => !ofWorkers.has(path))),
  "src/page.ts": importing(["./client"]),
  "src/ask.ts": `import { limits, withToolVariables } from "byref/agent";
import { createClient } from "byref/client";
import { limits as sameLimits, lookupIn, resolveReferences } from "byref/references";

const lookup = lookupIn({ city: { name: "Oslo" } });
const { value } = await resolveReferences("In $city.name.", lookup);
console.log(typeof withToolVariables, value, limits.maxNameChars === sameLimits.maxNameChars);
const conversation = createClient(process.argv[2] ?? "", { auth: async () => "key" }).conversation("c");
console.log(await conversation.send("How many tickets are open?").text());
`,
  "tsconfig.json": tsconfig(["src/index.ts", "src/all.ts"], {
    moduleResolution: "bundler",
    lib: ["ES2024"],
    types: ["@cloudflare/workers-types"],
  }),
  "tsconfig.all-in-node.json": tsconfig(["src/all-in-node.ts"], {
    moduleResolution: "bundler",
    lib: ["ES2024", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
    types: ["node"],
    skipLibCheck: false,
  }),
  "tsconfig.page.json": tsconfig(["src/page.ts"], {
    moduleResolution: "bundler",
    lib: ["ES2024", "DOM", "DOM.AsyncIterable"],
    types: [],
  }),
  "tsconfig.node.json": tsconfig(["src/ask.ts"], {
    module: "nodenext",
    moduleResolution: "nodenext",
    lib: ["ES2024"],
    types: ["node"],
    noEmit: false,
    rootDir: "src",
    outDir: "built",
  }),
} as const;

function tsconfig(files: readonly string[], options: object): string {
  const common = { target: "es2024", module: "esnext", strict: true, skipLibCheck: true };
  return JSON.stringify({ files, compilerOptions: { ...common, noEmit: true, ...options } });
}

/**
 * Options that put this project's binaries on the path and pass nothing else from this process's environment.
 */
export function options(cwd: string) {
  const { PATH = "", HOME = "" } = process.env;
  const env = { HOME, PATH: `${join(modules, ".bin")}:${PATH}`, CI: "1" };
  return { cwd, env, encoding: "utf8", stdio: "pipe" } as const;
}

export function run(folder: string, program: string, ...parameters: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, parameters, options(folder));
  if (status === 0) return stdout;
  throw new Error(`${program} ${parameters.join(" ")}:\n${stdout}${stderr}`);
}

/**
 * Installs as npm would, without a registry: only the package, its declared dependencies, and what the
 * project itself uses. An undeclared import is not found.
 */
function install(tarball: string, folder: string): void {
  const own = join(folder, "node_modules/byref");
  mkdirSync(own, { recursive: true });
  run(folder, "tar", "-xzf", tarball, "-C", own, "--strip-components=1");
  const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(join(own, "package.json"), "utf8"),
  ) as Readonly<Record<"dependencies" | "peerDependencies" | "peerDependenciesMeta", object>>;
  const peers = Object.keys(peerDependencies).filter((name) => !(name in peerDependenciesMeta));
  const tools = ["@cloudflare/workers-types", "@types/node"];
  for (const name of [...Object.keys(dependencies), ...peers, ...otherPeers, ...tools]) {
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(modules, name), link);
  }
}

/** Creates an application in `folder` that has installed the package and its declared dependencies. */
export async function packedProject(folder: string): Promise<void> {
  const app = join(folder, "app");
  cpSync(join(root, "create-byref/templates/worker-only"), app, { recursive: true });
  for (const [name, text] of Object.entries(project)) writeFileSync(join(app, name), text);
  install(await packedTarball(), app);
}
