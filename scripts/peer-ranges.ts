/**
 * Checks the oldest versions of the packages that an application provides (`peerDependencies`), in a folder that
 * has these versions: the types, the tests of `byref/agent`, and the hooks of `byref/react` in a browser, with the
 * oldest React. All other tests use the newest versions, from `devDependencies`. Also checks that npm refuses an
 * older `ai` beside the package, instead of installing a second one. Needs npm's registry or its cache: `npm run
 * test:peers`.
 */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

type Versions = Readonly<Record<string, string>>;

const root = join(import.meta.dirname, "..");
const { dependencies, devDependencies, peerDependencies } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
) as Readonly<Record<"dependencies" | "devDependencies" | "peerDependencies", Versions>>;
/** The tests of adapters and of the page use these. */
const OTHERS = new Set(["@ai-sdk/react", "@mastra/core"]);
const oldest = Object.fromEntries(
  Object.entries({ ...dependencies, ...peerDependencies })
    .filter(([name, range]) => range.startsWith("^") && !OTHERS.has(name))
    .map(([name, range]) => [name, oldestIn(range)]),
);
/** Released with each version of React. */
const OLDEST_REACT = { "react-dom": oldest.react, "@types/react": oldest.react };
const folder = mkdtempSync(join(tmpdir(), "byref-peers-"));
/** An `ai` outside of the range. */
const OTHER_AI = "7.0.147";
const CONFIG = {
  extends: "./tsconfig.json",
  include: ["src", "packages/*/src", "packages/adapters/test/agent"],
  exclude: ["src/index.ts"],
};

try {
  requireOneAi();
  console.log(`Oldest peers: ${JSON.stringify(oldest)}`);
  for (const name of [
    "src",
    "packages",
    "test/support",
    "test/cases",
    "tsconfig.json",
    "docs/guides/agent.md",
  ]) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  const manifest = {
    type: "module",
    dependencies: { ...dependencies, ...oldest, ...OLDEST_REACT },
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "tsconfig.peers.json"), JSON.stringify(CONFIG));
  writeFileSync(
    join(folder, "vitest.config.ts"),
    'export default { test: { isolate: false, testTimeout: 900_000, tags: [{ name: "slow" }, { name: "sampled" }] } };\n',
  );
  run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", "--no-package-lock"]);
  const others = [...Object.keys(devDependencies), ...Object.keys(peerDependencies)];
  for (const name of others) linkUnlessInstalled(name);
  run(join(root, "node_modules/.bin/tsc"), ["-p", "tsconfig.peers.json"]);
  const vitest = join(root, "node_modules/.bin/vitest");
  run(vitest, ["run", "packages/adapters/test/agent"]);
  run(vitest, ["run", "--project", "browser", "test/browser/react.test.ts"], root);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Throws unless npm refuses the packed package beside another `ai`. */
function requireOneAi(): void {
  const app = join(folder, "app");
  mkdirSync(app);
  const packed = spawnSync("npm", ["pack", "--ignore-scripts", "--pack-destination", app], {
    cwd: root,
    encoding: "utf8",
  });
  const tarball = packed.stdout.trim().split("\n").at(-1) ?? "";
  const manifest = { dependencies: { byref: `file:${tarball}`, ai: OTHER_AI } };
  writeFileSync(join(app, "package.json"), JSON.stringify(manifest));
  const parameters = ["install", "--dry-run", "--prefer-offline", "--no-audit", "--no-fund"];
  const { stderr } = spawnSync("npm", parameters, { cwd: app, encoding: "utf8" });
  const isRefused = stderr.includes("ERESOLVE") && stderr.includes("from byref@");
  if (!isRefused) throw new Error(`npm installs byref beside ai ${OTHER_AI}:\n${stderr}`);
  console.log(`npm refuses byref beside ai ${OTHER_AI}.`);
}

/** The version after `^` or `>=`. Throws for other ranges. */
function oldestIn(range: string): string {
  const found = /^(?:\^|>=)(\d+\.\d+\.\d+)/u.exec(range)?.[1];
  if (found === undefined) throw new Error(`The range ${range} has no oldest version.`);
  return found;
}

function linkUnlessInstalled(name: string): void {
  const path = join(folder, "node_modules", name);
  const own = join(root, "node_modules", name);
  if (existsSync(path) || !existsSync(own)) return;
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(own, path);
}

function run(program: string, parameters: readonly string[], cwd = folder): void {
  const env = { ...process.env, REACT_MODULES: join(folder, "node_modules") };
  const { status } = spawnSync(program, parameters, { cwd, stdio: "inherit", env });
  if (status === 0) return;
  throw new Error(`${program} ${parameters.join(" ")} failed with the oldest peers.`);
}
