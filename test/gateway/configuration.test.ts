import { describe, expect, it } from "vitest";
import { readConfiguration } from "../../src/gateway/configuration.ts";
import { codeOf } from "../../src/errors.ts";

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

  it("reads the file of VS Code, and leaves what only VS Code knows", () => {
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

  it("keeps the other servers if one needs a variable that is not set", () => {
    const text = JSON.stringify({
      mcpServers: { bad: { command: "x", env: { KEY: "${KEY}" } }, good: { command: "y" } },
    });
    const [bad, good] = readConfiguration(text);
    expect(bad?.problem).toBe("It needs the environment variable KEY.");
    expect(good?.problem).toBeUndefined();
  });

  it("leaves out a server that is disabled", () => {
    const text = JSON.stringify({ mcpServers: { one: { command: "x", disabled: true } } });
    expect(readConfiguration(text)).toEqual([]);
  });

  it.each([
    ['{\n"mcpServers": {\n', "Line 3"],
    ["{}", "neither"],
    ['{"mcpServers": {"a": {"command": 1}}}', "mcpServers.a.command"],
    ['{"mcpServers": {"a": {"command": "x", "byref": {"inlineChars": -1}}}}', "inlineChars"],
  ])("names what is wrong with %j", (text, part) => {
    const error = thrown(() => readConfiguration(text));
    expect(codeOf(error)).toBe("bad_configuration");
    expect((error as Error).message).toContain(part);
  });

  it.each([
    [{ url: "ftp://x/y" }, "ftp:"],
    [{ url: "nonsense" }, "not a URL"],
    [{}, "neither"],
  ])("says why %j cannot be used", (server, part) => {
    const [one] = readConfiguration(JSON.stringify({ mcpServers: { one: server } }));
    expect(one?.problem).toContain(part);
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
