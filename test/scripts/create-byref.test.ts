import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createProject, templateNames } from "../../create-byref/src/create-project.ts";
import { modelSettings } from "../../create-byref/src/model-settings.ts";
import { demoModels } from "../../packages/testing/src/demo.ts";
import { modelNamed } from "../../src/edge/model.ts";
import { readSettings } from "../../src/edge/settings.ts";
import packageJson from "../../package.json" with { type: "json" };
import { temporaryFolder } from "../support/server.ts";

const create = join(import.meta.dirname, "../../create-byref");
const templates = join(create, "templates");
const names = templateNames(templates);

const parent = temporaryFolder();
let folder = "";
let number = 0;
beforeEach(() => void (folder = join(parent, `shop-${number++}`)));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

const filesOf = (path: string) =>
  readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(path, name)).isFile())
    .sort();
/** A manifest or a lockfile. */
interface Content {
  readonly packages: Readonly<Record<string, object>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly cloudflare: { readonly bindings: Readonly<Record<string, object>> };
}
const json = (...path: readonly string[]) =>
  JSON.parse(readFileSync(join(...path), "utf8")) as Content;

const made = (options: { readonly template?: string; readonly byref?: string } = {}) =>
  createProject({ folder, template: "chat", model: "demo", ...options }, templates);

it.each(names)("the template %s depends on this version, and on tested versions", (name) => {
  const { version, dependencies, devDependencies, peerDependencies } = packageJson;
  const own = json(templates, name, "package.json");
  expect(own.dependencies["byref"]).toBe(version);
  const { packages } = json(templates, name, "package-lock.json");
  const locked = { version, dependencies, peerDependencies };
  expect(packages["node_modules/byref"]).toMatchObject(locked);
  expect(JSON.stringify(packages)).not.toMatch(/https?:\/\/[^"]*\.tgz/);
  const tested: Record<string, string> = { ...devDependencies, ...dependencies };
  const used = Object.entries({ ...own.dependencies, ...own.devDependencies });
  expect(used.filter(([of, other]) => of in tested && tested[of] !== other)).toEqual([]);
});

/** What Cloudflare's button cannot provision: https://developers.cloudflare.com/workers/platform/deploy-buttons */
const NOT_PROVISIONED = /worker_loaders|ratelimits|analytics_engine|r2_buckets/;

describe("the deploy button of chat", () => {
  const chat = join(templates, "chat");
  const example = parseEnv(readFileSync(join(chat, ".dev.vars.example"), "utf8"));

  it("finds a standalone project whose bindings Cloudflare can provision", () => {
    const files = filesOf(chat).map((name) => readFileSync(join(chat, name), "utf8"));
    expect(files.filter((text) => text.includes("../../"))).toEqual([]);
    const config = readFileSync(join(chat, "wrangler.toml"), "utf8");
    expect(config).not.toMatch(NOT_PROVISIONED);
    expect(json(chat, "package.json")).toMatchObject({
      scripts: { deploy: expect.stringMatching(/^wrangler deploy/) },
    });
  });

  it.each(["chat", "worker-only", "mcp-gateway"])("asks for settings that %s describes", (name) => {
    const { cloudflare } = json(templates, name, "package.json");
    const config = readFileSync(join(templates, name, "wrangler.toml"), "utf8");
    const asked = parseEnv(readFileSync(join(templates, name, ".dev.vars.example"), "utf8"));
    expect(Object.keys(asked).filter((key) => !(key in cloudflare.bindings))).toEqual([]);
    const known = Object.keys(cloudflare.bindings).filter(
      (key) => key in asked || config.includes(`"${key}"`),
    );
    expect(known).toEqual(Object.keys(cloudflare.bindings));
  });

  it("does not accept the example's key", () => {
    expect(Object.keys(example)).toEqual(["API_KEYS", "MODEL"]);
    expect(() => readSettings({ ...example, AUTH: "bearer" })).toThrow("API_KEYS must be JSON");
    expect(modelNamed(readSettings({ MODEL: example["MODEL"] }), [demoModels]).kind.name).toBe(
      "demo",
    );
  });
});

describe("a new project", () => {
  it("has the template's files, with its own name", () => {
    made();
    const expected = filesOf(join(templates, "chat")).map((name) => name.replace("_git", ".git"));
    expect(filesOf(folder)).toEqual(expected.sort());
    const name = folder.slice(parent.length + 1);
    expect(json(folder, "package.json")).toMatchObject({ name });
    expect(json(folder, "package-lock.json")).toMatchObject({ name, packages: { "": { name } } });
    expect(readFileSync(join(folder, "wrangler.toml"), "utf8")).toContain(`name = "${name}"\n`);
    expect(readdirSync(parent).filter((entry) => entry.startsWith("."))).toEqual([]);
  });

  it("can be in an empty folder, but not in any other", () => {
    mkdirSync(folder);
    made();
    expect(existsSync(join(folder, "src/index.ts"))).toBe(true);
    const before = filesOf(folder);
    writeFileSync(join(folder, "src/index.ts"), "// mine");
    expect(() => made()).toThrow(`${folder} is not empty.`);
    expect(filesOf(folder)).toEqual(before);
    expect(readFileSync(join(folder, "src/index.ts"), "utf8")).toBe("// mine");
  });

  it("installs Byref from a tarball, by a relative path", () => {
    const tarball = join(parent, "byref-9.9.9.tgz");
    writeFileSync(tarball, "");
    made({ byref: tarball });
    const byref = "file:../byref-9.9.9.tgz";
    expect(json(folder, "package.json")).toMatchObject({ dependencies: { byref } });
    const { packages } = json(folder, "package-lock.json");
    expect(packages[""]).toMatchObject({ dependencies: { byref } });
    expect(packages["node_modules/byref"]).toMatchObject({ resolved: byref });
  });

  it.each([
    [{ template: "nothing" }, 'There is no template "nothing". Choose one of: ai-chat-agent'],
    [{ template: "../templates/chat" }, "There is no template"],
    [{ byref: "missing.tgz" }, "There is no file"],
  ])("is not created with %j", (options, message) => {
    expect(() => made(options)).toThrow(message);
    expect(existsSync(folder)).toBe(false);
    expect(readdirSync(parent).filter((entry) => entry.startsWith("."))).toEqual([]);
  });

  it.each(["My App", "-x", "x".repeat(64), "ä", 'a"b'])("cannot be named %j", (name) => {
    const project = { folder: join(parent, name), template: "chat", model: "demo" };
    expect(() => createProject(project, templates)).toThrow("cannot name a project");
    expect(existsSync(project.folder)).toBe(false);
  });
});

describe("a model", () => {
  const local = "http://localhost:11434/v1";

  it.each([
    ["demo", undefined, []],
    ["workers-ai:@cf/meta/llama", undefined, ["workers-ai:@cf/meta/llama"]],
    ["openai:gpt", undefined, ["openai-compatible:gpt", "https://api.openai.com/v1", ""]],
    ["openai-compatible:qwen", undefined, ["openai-compatible:qwen", local, "# "]],
    [
      "openai-compatible:qwen",
      "http://[::1]:1/v1",
      ["openai-compatible:qwen", "http://[::1]:1/v1", "# "],
    ],
  ])("%s at %s has the settings %j", (model, modelBaseUrl, [named, url, mark]) => {
    const lines = [
      ...(named === undefined ? [] : [`MODEL=${named}\n`]),
      ...(url === undefined ? [] : [`MODEL_BASE_URL=${url}\n${mark}MODEL_API_KEY=\n`]),
    ];
    expect(modelSettings({ model, modelBaseUrl })).toBe(lines.join(""));
  });

  it.each(["gpt", "mistral:large", "openai:", "openai:x\nAUTH=none", "openai:a #b", "openai:'a'"])(
    "%j is refused",
    (model) => {
      expect(() => modelSettings({ model })).toThrow(/names no model|one line/);
    },
  );
});

describe("the program", () => {
  const run = (...words: readonly string[]) =>
    spawnSync(process.execPath, [join(create, "src/main.ts"), ...words, "--no-install"], {
      encoding: "utf8",
      cwd: parent,
      input: "",
    });

  it("creates a project without a question, and prints the next steps", () => {
    const { status, stdout } = run("my agents/agent", "--template=node", "--model=openai:gpt");
    expect(status).toBe(0);
    expect(stdout).toContain('  cd "my agents/agent"\n  npm install\n  npm start\n');
    expect(stdout).toContain("Write your key behind MODEL_API_KEY= in .env");
    const path = join(parent, "my agents/agent/.env");
    expect(readFileSync(path, "utf8")).toContain("MODEL=openai-compatible:gpt");
    expect(statSync(path).mode & 0o077).toBe(0);
    expect(readFileSync(join(parent, "my agents/agent/.gitignore"), "utf8")).toContain(".env");
  });

  it.each([
    [["a", "b"], "One folder, not a, b."],
    [["--colour"], "Unknown option '--colour'"],
    [["--template"], "--template"],
    [["file"], "not a directory"],
    [["file/agent"], "file"],
  ])("exits with 2 and one sentence for %j", (words, message) => {
    writeFileSync(join(parent, "file"), "");
    const { status, stderr } = run(...words);
    expect(status).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("    at ");
  });
});
