import { mkdtempSync, readdirSync, readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, dirname } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { unwrapFile, wrapFile, type WrapOptions } from "../src/cli/wrap-file.ts";
import { readConfiguration } from "../src/configuration.ts";
import { isObject } from "../../../src/value/json.ts";
import { CLIENT_CONFIGURATIONS } from "../../../test/support/client-configurations.ts";

let folder = "";
let file = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wrap-"));
  file = join(folder, "mcp.json");
});

/** Returns the places of a configuration that have servers, by project. */
function placesIn(text: string) {
  const { projects } = JSON.parse(text.replaceAll(/^\s*\/\/.*$|,(?=\s*[\]}])/gmu, "")) as Readonly<
    Record<string, unknown>
  >;
  const all = [undefined, ...Object.keys(isObject(projects) ? projects : {})];
  return all
    .map((project) => [project, readConfiguration(text, {}, project)] as const)
    .filter(([, servers]) => servers.length > 0);
}

const read = (name = file) => readFileSync(name, "utf8");

describe.each(Object.entries(CLIENT_CONFIGURATIONS))("wrapping %s", (_client, original) => {
  beforeEach(() => writeFileSync(file, original));

  it("leaves one entry in each place, which reads the original servers", () => {
    const { outcome, servers, notes } = wrapFile(file);
    expect(outcome).toBe("wrapped");
    const copy = `${file}.byref.json`;
    expect(read(copy)).toBe(original);
    const names: string[] = [];
    for (const [project, [entry, ...others]] of placesIn(read())) {
      const outside = notes.filter((note) => note.includes(" stays outside "));
      expect(others.map(({ problem }) => problem)).toEqual(outside.map(() => expect.any(String)));
      const ofProject = project === undefined ? [] : ["--project", project];
      expect(entry?.problem).toBe("It is a gateway itself.");
      expect(entry?.address).toMatchObject({
        command: "npx",
        args: ["-y", "byref", "mcp", "--config", copy, ...ofProject],
      });
      for (const server of readConfiguration(read(copy), { GITHUB_TOKEN: "t" }, project)) {
        if (server.problem === undefined) names.push(server.name);
      }
    }
    expect(names).toEqual(servers);
    expect(names.length).toBeGreaterThan(0);
  });

  it.each(["", "\uFEFF"])("is undone byte for byte, after %j", (mark) => {
    writeFileSync(file, `${mark}${original}`);
    wrapFile(file);
    expect(read().startsWith(mark)).toBe(true);
    expect(read().slice(mark.length)).not.toContain("\uFEFF");
    expect(read(`${file}.byref.json`)).toBe(`${mark}${original}`);
    expect(readConfiguration(read(`${file}.byref.json`)).length).toBeGreaterThan(0);
    expect(unwrapFile(file).outcome).toBe("unwrapped");
    expect(read()).toBe(`${mark}${original}`);
    expect(readdirSync(folder)).toEqual(["mcp.json"]);
  });

  it("changes nothing a second time", () => {
    wrapFile(file);
    const [wrapped, copy] = [read(), read(`${file}.byref.json`)];
    expect(wrapFile(file).outcome).toBe("unchanged");
    expect([read(), read(`${file}.byref.json`)]).toEqual([wrapped, copy]);
    unwrapFile(file);
    expect(unwrapFile(file).outcome).toBe("unchanged");
    expect(read()).toBe(original);
  });

  it("only reports with dryRun", () => {
    expect(wrapFile(file, { dryRun: true }).outcome).toBe("wrapped");
    expect(read()).toBe(original);
    expect(readdirSync(folder)).toEqual(["mcp.json"]);
    wrapFile(file);
    const wrapped = read();
    expect(unwrapFile(file, { dryRun: true }).outcome).toBe("unwrapped");
    expect(read()).toBe(wrapped);
  });
});

/** Replaces a part of a file. The part must exist. */
function change(name: string, from: string, to: string): void {
  const text = read(name);
  expect(text).toContain(from);
  writeFileSync(
    name,
    text.replace(from, () => to),
  );
}

const ONE = '{\n  "mcpServers": {\n    "one": { "command": "one" }\n  }\n}\n';

describe("unwrapping a file that was changed", () => {
  it("joins the servers that were added to the original ones, and keeps other changes", () => {
    writeFileSync(file, CLIENT_CONFIGURATIONS[".vscode/mcp.json"]);
    wrapFile(file);
    change(file, '"servers": {', '"servers": {\n        "new": {"command": "n"},');
    change(file, "Asked for once", "Asked for twice");
    const { outcome, servers, notes } = unwrapFile(file);
    expect(outcome).toBe("merged");
    expect(notes.join()).toContain("changed since it was wrapped");
    expect(servers).toEqual(["perplexity", "local", "new"]);
    expect(read()).toContain("Asked for twice");
    expect(read()).toContain("// Never written down.");
    expect(read()).not.toContain("byref");
    expect(readConfiguration(read()).map(({ name }) => name)).toEqual(servers);
  });

  it("keeps what Claude Code wrote in its file meanwhile, and restores each project", () => {
    writeFileSync(file, CLIENT_CONFIGURATIONS[".claude.json"]);
    wrapFile(file);
    change(file, '"numStartups": 184', '"numStartups": 185');
    expect(unwrapFile(file).outcome).toBe("merged");
    const expected = CLIENT_CONFIGURATIONS[".claude.json"].replace("184", "185");
    expect(read()).toBe(expected);
  });

  it("prefers the file's server if the copy has another one with the same name", () => {
    writeFileSync(file, ONE);
    wrapFile(file);
    change(file, '"mcpServers": {', '"mcpServers": {"one": {"command": "new"},');
    unwrapFile(file);
    expect(readConfiguration(read()).map(({ address }) => address)).toMatchObject([
      { command: "new" },
    ]);
  });
});

describe("wrapping a wrapped file", () => {
  it("takes in the servers that a client added, and unwrapping restores them with the others", () => {
    writeFileSync(file, ONE);
    wrapFile(file);
    change(file, '"mcpServers": {', '"mcpServers": {"new": {"command": "new"},');
    expect(wrapFile(file)).toMatchObject({ outcome: "wrapped", servers: ["new"] });
    const named = (text: string) => readConfiguration(text).map(({ name }) => name);
    expect(named(read())).toEqual(["byref"]);
    expect(named(read(`${file}.byref.json`))).toEqual(["one", "new"]);
    expect(wrapFile(file).outcome).toBe("unchanged");
    expect(unwrapFile(file).outcome).toBe("unwrapped");
    expect(named(read())).toEqual(["one", "new"]);
  });

  it("keeps what a person changed in the gateway's entry and in the copy", () => {
    writeFileSync(file, ONE);
    wrapFile(file);
    change(file, '"command": "npx"', '"command": "/usr/bin/npx"');
    change(`${file}.byref.json`, '"one"', '"first"');
    change(file, '"mcpServers": {', '"mcpServers": {"new": {"command": "${workspaceFolder}/x"},');
    wrapFile(file);
    const [entry] = readConfiguration(read());
    expect(entry?.address).toMatchObject({
      command: "/usr/bin/npx",
      env: { BYREF_WORKSPACEFOLDER: "${workspaceFolder}" },
    });
    expect(unwrapFile(file).outcome).toBe("unwrapped");
    expect(readConfiguration(read()).map(({ name }) => name)).toEqual(["first", "new"]);
  });

  it("finishes a wrapping that was interrupted between its two writes", () => {
    writeFileSync(file, ONE);
    wrapFile(file);
    change(file, '"mcpServers": {', '"mcpServers": {"new": {"command": "new"},');
    const before = read();
    wrapFile(file);
    const after = read();
    writeFileSync(file, before);
    wrapFile(file);
    expect(read()).toBe(after);
    expect(unwrapFile(file).outcome).toBe("unwrapped");
  });
});

describe("wrapping", () => {
  it("leaves a server that only the client can start where it is, and names it", () => {
    const bad =
      '"bad": { "command": 7, "note": "mine" }, "signed": { "url": "https://x/mcp", "oauth": {} }';
    writeFileSync(file, `{"mcpServers": {${bad}, "good": {"command": "good"}}}`);
    const { servers, notes } = wrapFile(file);
    expect(servers).toEqual(["good"]);
    expect(notes).toEqual([
      expect.stringMatching(/^bad stays outside the gateway. It is not a server: .*command/u),
      expect.stringMatching(/^signed stays outside the gateway. .*"oauth"/u),
    ]);
    const { mcpServers } = JSON.parse(read());
    expect(mcpServers).toEqual({
      byref: expect.objectContaining({ command: "npx" }),
      bad: { command: 7, note: "mine" },
      signed: { url: "https://x/mcp", oauth: {} },
    });
    expect(wrapFile(file).outcome).toBe("unchanged");
    expect(unwrapFile(file).outcome).toBe("unwrapped");
  });

  it.each([
    ["another server", { command: "npx", args: ["byref-of-somebody"] }, ["byref", "one"]],
    ["the user's own gateway", { command: "npx", args: ["byref", "mcp", "--", "x"] }, ["one"]],
  ])("uses another name beside %s named byref", (_what, byref, taken) => {
    const text = JSON.stringify({ mcpServers: { byref, one: { command: "one" } } });
    writeFileSync(file, text);
    expect(wrapFile(file).servers).toEqual(taken);
    expect(Object.keys(JSON.parse(read()).mcpServers)).toContain("byref-2");
    expect(wrapFile(file).outcome).toBe("unchanged");
    expect(unwrapFile(file).outcome).toBe("unwrapped");
    expect(read()).toBe(text);
  });

  it("gives entries of Claude Code's projects names that do not hide global ones", () => {
    writeFileSync(file, CLIENT_CONFIGURATIONS[".claude.json"]);
    wrapFile(file);
    const { mcpServers, projects } = JSON.parse(read());
    expect(Object.keys(mcpServers)).toEqual(["byref"]);
    expect(Object.keys(projects["/home/ada/shop"].mcpServers)).toEqual(["byref-project"]);
    expect(projects["/home/ada/notes"].mcpServers).toEqual({});
  });

  it.each([
    ["win32", ["cmd", "/c", "npx", "-y", "byref", "mcp"]],
    ["linux", ["npx", "-y", "byref", "mcp"]],
    ["darwin", ["npx", "-y", "byref", "mcp"]],
  ] as const)("starts the gateway on %s by %j, and finds the entry again", (platform, words) => {
    writeFileSync(file, ONE);
    wrapFile(file, { platform });
    const { byref } = JSON.parse(read()).mcpServers;
    expect([byref.command, ...byref.args].slice(0, words.length)).toEqual(words);
    expect(wrapFile(file, { platform }).outcome).toBe("unchanged");
    expect(readConfiguration(read())[0]?.problem).toBe("It is a gateway itself.");
    expect(unwrapFile(file).outcome).toBe("unwrapped");
    expect(read()).toBe(ONE);
  });
});

const SERVERS = { shop: { command: "shop" }, "my crm": { command: "crm" } };

function written(name: string, value: unknown): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(value, undefined, 2));
  return file;
}

/** Wraps a file and restores it; returns what was wrapped and what was said. */
function wrapped(file: string, options: WrapOptions = {}) {
  const original = readFileSync(file, "utf8");
  const { servers, notes } = wrapFile(file, options);
  const left = JSON.parse(readFileSync(file, "utf8"));
  expect(wrapFile(file, options).outcome).toBe("unchanged");
  if (servers.length > 0) expect(unwrapFile(file).outcome).toBe("unwrapped");
  expect(readFileSync(file, "utf8")).toBe(original);
  return { servers, notes, left };
}

describe("a server stays outside the gateway", () => {
  it.each([
    [
      "in the client's sandbox",
      { sandboxEnabled: true },
      '"sandboxEnabled"; without it, wrap takes',
    ],
    ["with a sandbox", { sandbox: { network: {} } }, '"sandbox"; without it, wrap takes'],
    ["with a filter of another form", { disabledTools: { a: 1 } }, '"disabledTools" is no list'],
  ])("%s", (_what, keys, why) => {
    const servers = { shop: { command: "shop", ...keys }, other: { command: "other" } };
    const { servers: taken, notes, left } = wrapped(written("mcp.json", { servers }));
    expect(taken).toEqual(["other"]);
    expect(left.servers.shop).toEqual(servers.shop);
    expect(notes).toEqual([expect.stringContaining(`shop stays outside the gateway. `)]);
    expect(notes.join()).toContain(why);
  });

  it.each([
    ["deny", "mcp__shop__drop", "Write mcp__byref__drop there"],
    ["ask", "mcp__shop__get_*", "Write mcp__byref__get_* there"],
    ["deny", "mcp__shop", "Remove it, if it is not needed,"],
    ["deny", "mcp__shop__*", "Remove it, if it is not needed,"],
    ["PreToolUse", "Write|mcp__shop__put.*x", "Write Write|mcp__byref__put.*x there"],
    ["PostToolUse", "mcp__shop__.*", "Remove it"],
    ["PreToolUse", "mcp__(git|shop)__.*", "Remove it"],
  ])("if a rule of Claude Code names it: %s %s", (kind, rule, change) => {
    const settings = kind.endsWith("Use")
      ? { hooks: { [kind]: [{ matcher: rule }] } }
      : { permissions: { [kind]: ["Bash", rule] } };
    const file = written(".mcp.json", { mcpServers: SERVERS });
    const where = written(".claude/settings.local.json", settings);
    const { servers, notes, left } = wrapped(file);
    expect(servers).toEqual(["my crm"]);
    expect(notes).toEqual([
      expect.stringContaining(
        `shop stays outside the gateway. The rule ${rule} in ${where} would no longer apply to it. ${change}`,
      ),
    ]);
    expect(left.mcpServers.shop).toEqual(SERVERS.shop);
    expect(left.mcpServers.byref.args.slice(-2)).toEqual(["--except", "shop"]);
  });

  it.each([
    {
      permissions: {
        allow: ["mcp__shop__get"],
        deny: ["mcp__*", "mcp__shop_b__get", "mcp__b-shop"],
      },
    },
    { permissions: { deny: ["Read(shop)", "mcp__byref__get"] } },
    { hooks: { PreToolUse: [{ matcher: "mcp__.*__write.*" }, { hooks: [] }] } },
    { permissions: "none", hooks: [] },
  ])("and not for another rule: %j", (settings) => {
    const file = written(".mcp.json", { mcpServers: { shop: SERVERS.shop } });
    written(".claude/settings.json", settings);
    expect(wrapped(file)).toMatchObject({ servers: ["shop"], notes: [] });
  });

  it("if a rule of a project or of the user names a server of the user", () => {
    const project = join(folder, "project");
    const file = written(".claude.json", {
      mcpServers: SERVERS,
      projects: { [project]: { mcpServers: { db: { command: "db" }, log: { command: "log" } } } },
    });
    written("project/.claude/settings.json", {
      permissions: { deny: ["mcp__shop__x", "mcp__db__x"] },
    });
    written(".claude/settings.json", { permissions: { deny: ["mcp__log__x"] } });
    const { servers, left } = wrapped(file);
    expect(servers).toEqual(["my crm"]);
    expect(Object.keys(left.projects[project].mcpServers)).toEqual(["db", "log"]);
  });

  it.each([
    [
      ".claude.json",
      { projects: { a: { disabledMcpServers: ["shop"] } } },
      '"disabledMcpServers" in ',
    ],
    ["settings.json", { mcp: { excluded: ["shop"] } }, '"mcp.excluded" in '],
    ["settings.json", { excludeMCPServers: ["shop"] }, '"excludeMCPServers" in '],
  ])("if a list of %s turns it off: %j", (name, keys, why) => {
    const file = written(name, { mcpServers: SERVERS, ...keys });
    const { servers, notes } = wrapped(file);
    expect(servers).toEqual(["my crm"]);
    expect(notes.join()).toContain(`shop stays outside the gateway. ${why}`);
  });

  it("if it is not among those that Gemini CLI may start, and the gateway has to be", () => {
    const mcp = { allowed: ["shop"] };
    const { servers, notes } = wrapped(written("settings.json", { mcp, mcpServers: SERVERS }));
    expect(servers).toEqual(["shop"]);
    expect(notes).toEqual([
      expect.stringMatching(
        /^my crm stays outside the gateway. "mcp.allowed" in .* does not have it/u,
      ),
      expect.stringMatching(/^Add "byref" to "mcp.allowed" in /u),
    ]);
  });

  it("by --except, until it is wrapped without", () => {
    const file = written("mcp.json", { mcpServers: SERVERS });
    const original = readFileSync(file, "utf8");
    const { notes } = wrapped(file, { except: ["shop"] });
    expect(notes).toEqual(["shop stays outside the gateway. You have excepted it."]);
    wrapFile(file, { except: ["shop"] });
    const entry = () => JSON.parse(readFileSync(file, "utf8")).mcpServers.byref;
    expect(wrapFile(file)).toMatchObject({ outcome: "wrapped", servers: ["shop"] });
    expect(entry().args).not.toContain("--except");
    expect(unwrapFile(file).outcome).toBe("unwrapped");
    expect(readFileSync(file, "utf8")).toBe(original);
    expect(() => wrapFile(file, { except: ["shp"] })).toThrow(`--except shp: ${file} has no such`);
  });
});

it.each([
  [{ disabledTools: ["drop"] }, [/^shop: its "disabledTools" applies behind the gateway, too/u]],
  [
    { includeTools: ["a"], excludeTools: ["b"] },
    [/"excludeTools" applies/u, /"includeTools" applies/u],
  ],
  [
    { alwaysAllow: ["get"] },
    [
      /^shop: the client asks again before it runs tools of it\. .* write "alwaysAllow": \["get"\] into the gateway's entry\.$/u,
    ],
  ],
  [
    { autoApprove: ["*"] },
    [/runs all its tools\. .* which allows those of all servers behind it\.$/u],
  ],
  [{ trust: true }, [/write "trust": true into .* all servers behind it\.$/u]],
  [{ trust: false, alwaysAllow: [], autoApprove: [] }, []],
])("wrapping says what becomes of %j", (keys, notes) => {
  const file = written("mcp.json", { mcpServers: { shop: { command: "shop", ...keys } } });
  expect(wrapped(file).notes).toEqual(notes.map((note) => expect.stringMatching(note)));
});

const SIGN_IN =
  /^shop: the gateway cannot sign in .* "headers" in .*mcp\.json\.byref\.json, or .+ --except shop\.$/u;
const headers = { Authorization: "Bearer ${SHOP_TOKEN}" };

it.each([
  ["a server without headers", { url: "https://shop.example/mcp" }, [SIGN_IN]],
  ["with others", { url: "https://shop.example/mcp", headers: { "X-Team": "a" } }, [SIGN_IN]],
  ["with a token", { url: "https://shop.example/mcp", headers }, []],
  ["with a key", { url: "https://shop.example/mcp", headers: { "x-api-key": "${KEY}" } }, []],
  ["with a key in its address", { url: "https://shop.example/mcp?api_key=abcdef123456" }, []],
  ["on this machine", { url: "http://localhost:3000/mcp" }, []],
  ["on this machine by number", { url: "http://127.0.0.1:3000/sse", type: "sse" }, []],
  ["that is a program", { command: "shop" }, []],
])("wrapping says what a person should know about a server: %s", (_what, shop, notes) => {
  writeFileSync(file, JSON.stringify({ mcpServers: { shop } }));
  expect(wrapFile(file).notes).toEqual(notes.map((note) => expect.stringMatching(note)));
});
