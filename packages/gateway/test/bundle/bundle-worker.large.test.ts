import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { bundleWorker } from "../../src/bundle/bundle-worker.ts";
import { temporaryFolder } from "../../../../test/support/server.ts";

const modules = join(import.meta.dirname, "../../../../node_modules");
const parent = temporaryFolder();
let project = "";
let number = 0;

const WORKER = `export class Counter {}
export default { fetch: () => new Response("Hello.") };
`;
const CONFIG = `name = "own"
main = "src/main.ts"
compatibility_date = "2026-10-01"
[vars]
AUTH = "bearer"
LIMITS = { perDay = 3 }
[secrets]
required = ["CRM_KEY"]
[ai]
binding = "AI"
[[durable_objects.bindings]]
name = "COUNTER"
class_name = "Counter"
[[migrations]]
tag = "v1"
new_sqlite_classes = ["Counter"]
`;

beforeEach(() => {
  project = join(parent, `project-${number++}`);
  mkdirSync(join(project, "src"), { recursive: true });
  writeFileSync(join(project, "src/main.ts"), WORKER);
  writeFileSync(join(project, "wrangler.toml"), CONFIG);
  symlinkSync(modules, join(project, "node_modules"));
});
afterAll(() => rmSync(parent, { recursive: true, force: true }));

describe("byref bundle", () => {
  it("writes modules, a configuration with the names of settings, but no secrets", async () => {
    writeFileSync(join(project, ".dev.vars"), "CRM_KEY=a-secret-value\n");
    const folder = join(project, "bundle");
    const { leftOut } = await bundleWorker({ project, folder });
    expect(leftOut).toEqual(["ai"]);
    const files = readdirSync(folder).toSorted();
    expect(files).toEqual(["config.capnp", "index.js", "main.js", "settings.json"]);
    const text = (name: string) => readFileSync(join(folder, name), "utf8");
    expect(text("config.capnp")).toContain('(name = "CRM_KEY", fromEnvironment = "CRM_KEY")');
    expect(text("config.capnp")).toContain(
      '(name = "COUNTER", durableObjectNamespace = "Counter")',
    );
    const { vars, names } = JSON.parse(text("settings.json")) as {
      readonly vars: object;
      readonly names: readonly string[];
    };
    expect(vars).toEqual({ AUTH: "bearer", LIMITS: '{"perDay":3}' });
    expect(names).toEqual(expect.arrayContaining(["AUTH", "API_KEYS", "LIMITS", "CRM_KEY"]));
    expect(files.map(text).join("")).not.toContain("a-secret-value");
    // A Worker that cannot be bundled leaves the earlier bundle.
    writeFileSync(join(project, "src/main.ts"), `import "./missing.ts";\n${WORKER}`);
    await expect(bundleWorker({ project, folder })).rejects.toThrow("./missing.ts");
    expect(readdirSync(folder).toSorted()).toEqual(files);
    expect(readdirSync(project).filter((name) => name.startsWith("bundle-"))).toEqual([]);
  });

  it("replaces only a folder that is a bundle", async () => {
    await expect(bundleWorker({ project, folder: project })).rejects.toThrow("not a bundle");
    expect(readFileSync(join(project, "src/main.ts"), "utf8")).toBe(WORKER);
  });

  it.each([
    ["node_modules", "There is no wrangler in "],
    ["wrangler.toml", "There is no wrangler.toml in "],
  ])("reports a missing %s", async (name, message) => {
    rmSync(join(project, name));
    const bundling = bundleWorker({ project, folder: join(project, "bundle") });
    await expect(bundling).rejects.toThrow(message);
  });
});
