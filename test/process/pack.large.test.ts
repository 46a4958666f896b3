import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packCreatePackage } from "../../scripts/pack.ts";
import { bundleWorker, type ChaosWorker, startWorker } from "../chaos/worker.ts";
import { options, packedProject, run } from "../support/packed-project.ts";
import { temporaryFolder } from "../support/server.ts";

const root = join(import.meta.dirname, "../..");

describe("the npm package", () => {
  const folder = temporaryFolder();
  const app = join(folder, "app");
  let worker: ChaosWorker | undefined;

  beforeAll(() => packedProject(folder));

  afterAll(async () => {
    await worker?.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  it("contains the modules and their types, but no sources or tests", () => {
    const files = readdirSync(join(app, "node_modules/byref"));
    const described = ["LICENSE", "README.md", "dist", "package.json"];
    expect(files.toSorted()).toEqual(described);
    const built = readdirSync(join(app, "node_modules/byref/dist"), { encoding: "utf8" });
    for (const name of ["byref", "agent", "client", "demo", "references", "testing"]) {
      expect(built).toEqual(expect.arrayContaining([`${name}.js`, `${name}.d.ts`]));
    }
  });

  it.each(["tsconfig.json", "tsconfig.page.json", "tsconfig.node.json"])(
    "has the types that a project needs, and no others (%s)",
    (config) => {
      const { stdout } = spawnSync("tsc", ["-p", config, "--skipLibCheck", "false"], options(app));
      // The types of dependencies are less strict.
      const ofOthers = /^(?:\S*node_modules\/(?!byref\/)|\s|$)/u;
      expect(stdout.split("\n").filter((line) => !ofOthers.test(line))).toEqual([]);
    },
  );

  it("compiles in Node with skipLibCheck: false, whatever is imported", () => {
    expect(run(app, "tsc", "-p", "tsconfig.all-in-node.json")).toBe("");
  });

  it("leaves the languages of Zod out of a Worker that takes its module for zod/v4", () => {
    const input = 'import { z } from "zod/v4"; console.log(z.string().parse("a"));';
    const bundled = (...more: readonly string[]) =>
      spawnSync("esbuild", ["--bundle", "--format=esm", "--charset=utf8", ...more], {
        ...options(app),
        input,
      }).stdout;
    expect(bundled()).toContain("Ungültig");
    expect(bundled("--alias:zod/v4=byref/no-zod-languages")).not.toContain("Ungültig");
  });

  it("runs in its own Worker and answers its own client", async () => {
    const state = join(folder, "state");
    const config = relative(root, join(app, "wrangler.toml"));
    worker = await startWorker(state, await bundleWorker(state, { config }));
    const said = run(app, "node", "built/ask.js", worker.url);
    expect(said).toMatch(/^function In Oslo\. true\n167 of 500 records/);
  });

  it.each(["node-20", "node-22"])(
    "runs on %s, as its command and create-byref do",
    async (name) => {
      const versions = join(folder, "versions");
      if (!existsSync(versions)) {
        cpSync(join(import.meta.dirname, "node-versions"), versions, { recursive: true });
        // With the environment of this process, which may name a registry.
        execFileSync("npm", ["ci"], { cwd: versions, stdio: "pipe" });
      }
      const node = join(versions, "node_modules", name, "bin/node");
      expect(run(app, node, "built/ask.js", worker?.url ?? "")).toContain("167 of 500");
      const program = join(app, "node_modules/byref/dist/cli/main.js");
      expect(run(app, node, program, "mcp", "--help")).toContain("byref mcp wrap");
      // The client is gone at once.
      const gateway = [program, "mcp", "--state", join(folder, `${name}-state`), "--", "server"];
      const { status, stderr } = spawnSync(node, gateway, { ...options(app), input: "" });
      expect(status).toBe(name === "node-20" ? 1 : 0);
      if (status === 1) expect(stderr).toContain("byref mcp needs Node 22.13 or newer");
      const create = await packCreatePackage(folder);
      run(folder, "tar", "-xzf", create);
      const made = [
        "package/dist/main.js",
        name,
        "--template=node",
        "--model=demo",
        "--no-install",
      ];
      expect(run(folder, node, ...made)).toContain(`cd ${name}`);
    },
  );

  it.each([
    ["import", ["--input-type=module", "-e", 'import { createRuntime } from "byref"']],
    ["require", ["--input-type=commonjs", "-e", 'require("byref")']],
  ])("explains in Node what to %s instead of `byref`", (_, parameters) => {
    const { status, stderr } = spawnSync("node", parameters, options(app));
    expect(status).not.toBe(0);
    expect(stderr).toContain("byref is for Cloudflare Workers");
    expect(stderr).toContain('"byref/agent"');
  });
});
