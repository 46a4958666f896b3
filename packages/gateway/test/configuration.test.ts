import { describe, expect, it } from "vitest";
import { readConfiguration } from "../src/configuration.ts";
import { codeOf } from "../../../src/errors.ts";

describe("the configuration of the gateway", () => {
  it("reads the files of Claude and Cursor, with comments and trailing commas", () => {
    const text = `{
      // A program and an address.
      "mcpServers": {
        "files": { "command": "npx", "args": ["-y", "server", "/data"], "env": { "A": "b" } },
        "crm": { "url": "https://crm.example/mcp", "headers": { "Authorization": "Bearer t" }, },
      },
    }`;
    const servers = readConfiguration(text);
    expect(servers.map(({ name, address }) => [name, address])).toEqual([
      ["files", { command: "npx", args: ["-y", "server", "/data"], env: { A: "b" } }],
      ["crm", { url: "https://crm.example/mcp", headers: { Authorization: "Bearer t" } }],
    ]);
  });

  it("reads the file of VS Code, and keeps the variables that only VS Code can fill in", () => {
    const text = JSON.stringify({
      inputs: [{ id: "key", type: "promptString" }],
      servers: {
        one: { type: "stdio", command: "one", args: ["${input:key}", "${workspaceFolder}/x"] },
      },
    });
    const [one] = readConfiguration(text);
    expect(one?.address).toEqual({
      command: "one",
      args: ["${input:key}", "${workspaceFolder}/x"],
      env: {},
    });
    expect(one?.problem).toBeUndefined();
  });

  it("replaces environment variables, with a default where there is one", () => {
    const text = JSON.stringify({
      mcpServers: { one: { command: "${RUN}", args: ["${env:DIR}/x", "${PORT:-80}"] } },
    });
    const [one] = readConfiguration(text, { RUN: "go", DIR: "/d" });
    expect(one?.address).toEqual({ command: "go", args: ["/d/x", "80"], env: {} });
  });

  it.each([
    ["${lower_case}/x", "/l/x"],
    ["${env:lower_case}", "/l"],
    ["${Mixed1}", "M"],
    ["${http_proxy:-http://proxy:80}", "http://proxy:80"],
    ["${env:http_proxy:-none}", "none"],
    ["${workspaceFolder:-.}", "."],
    ["${TWICE}", "${lower_case}"],
    // A shell's, another client's, and names that objects have.
    ["${file}", "${file}"],
    ["${constructor} ${toString}", "${constructor} ${toString}"],
    ["${_R%/} $lower_case", "${_R%/} $lower_case"],
    ["~/src", "/home/me/src"],
    ["~", "/home/me"],
    ["${TILDE}", "/home/me/x"],
    ["~other/x", "~other/x"],
    ["--dir=~/x", "--dir=~/x"],
  ])("fills %s in as %s", (written, filled) => {
    const environment = {
      HOME: "/home/me",
      lower_case: "/l",
      Mixed1: "M",
      TWICE: "${lower_case}",
      TILDE: "~/x",
    };
    const mcpServers = { one: { command: written, args: [written], cwd: written } };
    const [one] = readConfiguration(JSON.stringify({ mcpServers }), environment);
    expect(one?.address).toEqual({ command: filled, args: [filled], cwd: filled, env: {} });
    expect(one?.problem).toBeUndefined();
  });

  it("leaves a tilde in variables and headers as it is, as shells and clients do", () => {
    const mcpServers = {
      one: { command: "x", env: { A: "~/a" } },
      two: { url: "https://x/~/mcp", headers: { B: "~/b" } },
    };
    const servers = readConfiguration(JSON.stringify({ mcpServers }), { USERPROFILE: "C:\\me" });
    expect(servers.map(({ address }) => address)).toEqual([
      { command: "x", args: [], env: { A: "~/a" } },
      { url: "https://x/~/mcp", headers: { B: "~/b" } },
    ]);
  });

  it("needs a variable that env: names, whatever its case", () => {
    const mcpServers = { one: { command: "x", args: ["${env:lower_case}"] } };
    const [one] = readConfiguration(JSON.stringify({ mcpServers }));
    expect(one?.problem).toBe("It needs the environment variable lower_case.");
  });

  it("names the variables that are secrets", () => {
    const byref = { trusted: true, secrets: ["CODEWORD"] };
    const [one] = readConfiguration(
      JSON.stringify({ mcpServers: { one: { command: "x", byref } } }),
    );
    expect(one).toMatchObject({ rules: { trusted: true }, secrets: ["CODEWORD"] });
    expect(one?.rules).not.toHaveProperty("secrets");
  });

  it("reads the servers that Claude Code has for a project", () => {
    const projects = { "/home/me/shop": { mcpServers: { two: { command: "two" } } } };
    const text = JSON.stringify({ mcpServers: { one: { command: "one" } }, projects });
    const names = (project?: string) =>
      readConfiguration(text, {}, project).map(({ name }) => name);
    expect([names(), names("/home/me/shop")]).toEqual([["one"], ["two"]]);
    expect(() => names("/home/me/other")).toThrow("neither");
  });

  it("leaves out a server that is disabled", () => {
    const text = JSON.stringify({ mcpServers: { one: { command: "x", disabled: true } } });
    expect(readConfiguration(text)).toEqual([]);
  });

  it.each([
    ['{\n"mcpServers": {\n', "Line 3"],
    ["{}", "neither"],
    ['{"mcpServers": []}', "not an object"],
  ])("names what is wrong with %j", (text, part) => {
    const error = thrown(() => readConfiguration(text));
    expect(codeOf(error)).toBe("bad_configuration");
    expect((error as Error).message).toContain(part);
  });

  it.each([
    [{ url: "ftp://x/y" }, "ftp:"],
    [{ url: "nonsense" }, "not a URL"],
    [{}, "neither"],
    ["npx server", "expected object"],
    [{ command: 1 }, "command"],
    [{ command: "x", byref: { inlineChars: -1 } }, "inlineChars"],
    [{ command: "x", envFile: ".env" }, "envFile"],
    [{ url: "https://x/mcp", oauth: { clientId: "1" } }, "oauth"],
    [{ command: "npx", args: ["-y", "byref@1.0.0", "mcp", "--config", "x"] }, "a gateway"],
  ])("says why %j cannot be used", (server, part) => {
    const mcpServers = { one: server, good: { command: "good" } };
    const [one, good] = readConfiguration(JSON.stringify({ mcpServers }));
    expect(one?.problem).toContain(part);
    expect(good?.problem).toBeUndefined();
  });
});

function thrown(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("Nothing was thrown.");
}
