import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { unwrapFile, wrapFile } from "../src/cli/wrap-file.ts";
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

  it.each(["", "\uFEFF"])("is undone byte for byte, beginning with %j", (mark) => {
    writeFileSync(file, mark + original);
    wrapFile(file);
    expect(read().replace(mark, "")).toMatch(/^[^\uFEFF]+$/u);
    expect(read(`${file}.byref.json`)).toBe(mark + original);
    expect(readConfiguration(read(`${file}.byref.json`)).length).toBeGreaterThan(0);
    expect(unwrapFile(file).outcome).toBe("unwrapped");
    expect(read()).toBe(mark + original);
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

  // anthropics/claude-code#78042.
  it.each([
    '{"mcpServers": {"a": {"command": "a"}}, "mcpServers": {"b": {"command": "b"}}}',
    '{"mcpServers": {"a": {"command": "a"}}, "mcpServers": {"a": {"command": "b"}}}',
    '{"projects": {}, "projects": {"/x": {"mcpServers": {"a": {"command": "a"}}}}}',
    '{"mcpServers": {"__proto__": {"command": "a"}, "b": {"command": "b"}}}',
  ])("refuses a file of which clients read another part than it would change: %s", (text) => {
    writeFileSync(file, text);
    const said = /is there twice, or has a server "__proto__"\. Correct it and run this again/u;
    expect(() => wrapFile(file)).toThrow(said);
    expect([read(), ...readdirSync(folder)]).toEqual([text, "mcp.json"]);
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
