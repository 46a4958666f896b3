/**
 * Builds `dist/`: ES modules and types, and the module that Node loads for `byref`, which throws an error
 * that names the supported modules. The page in `dist/web` is not part of the package.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const NOT_IN_NODE = `byref is for Cloudflare Workers: it imports "cloudflare:workers", which Node does not have. In Node, import "byref/agent" (agents of the AI SDK), "byref/client" (the HTTP client) or "byref/references" (the reference engine).`;

const built = existsSync("dist") ? readdirSync("dist") : [];
for (const name of built) {
  // The page, or a build of it in progress.
  if (!name.startsWith("web")) rmSync(join("dist", name), { recursive: true });
}
const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
if (status === 0) writeFileSync("dist/byref-in-node.js", moduleForNode());
process.exit(status ?? 1);

/** Has the same exports: otherwise Node would report a missing name before any code runs. */
function moduleForNode(): string {
  const names = exportsOf("dist/byref.js").join(", ");
  const refusal = `throw new Error(${JSON.stringify(NOT_IN_NODE)});`;
  return `export const { ${names} } = refuse();\n\nfunction refuse() {\n  ${refusal}\n}\n`;
}

function exportsOf(module: string): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), "byref-build-"));
  try {
    const metafile = join(folder, "meta.json");
    const options = ["--bundle", "--format=esm", "--packages=external", "--external:cloudflare:*"];
    const outputs = [`--outdir=${folder}`, `--metafile=${metafile}`];
    execFileSync("esbuild", [module, ...options, ...outputs], { stdio: "pipe" });
    const meta = JSON.parse(readFileSync(metafile, "utf8")) as {
      outputs: Readonly<Record<string, { readonly exports: readonly string[] }>>;
    };
    return Object.values(meta.outputs).flatMap((output) => output.exports);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
