import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { unwrapFile, wrapFile } from "../../src/cli/wrap-file.ts";
import { readConfiguration } from "../../src/gateway/configuration.ts";

/** The files of four clients, as they write them. */
const FILES = {
  ".mcp.json (Claude Code)": `{
  "mcpServers": {
    "github": { "type": "http", "url": "https://mcp.example/github", "headers": { "Authorization": "Bearer \${GITHUB_TOKEN}" } },
    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."] }
  }
}
`,
  "~/.cursor/mcp.json": `{\n\t"mcpServers": {\n\t\t"memory": {\n\t\t\t"command": "npx",\n\t\t\t"args": ["-y", "memory"],\n\t\t\t"env": {"KEY": "é"}\n\t\t}\n\t}\n}`,
  ".vscode/mcp.json": `{
    // Asked for once.
    "inputs": [
        { "id": "key", "type": "promptString", "password": true },
    ],
    "servers": {
        "perplexity": {
            "type": "stdio",
            "command": "npx",
            "args": ["-y", "server-perplexity"],
            "env": { "API_KEY": "\${input:key}" }
        },
    }
}
`,
  "claude_desktop_config.json": `{\r\n  "globalShortcut": "Ctrl+Space",\r\n  "mcpServers": {\r\n    "sqlite": {\r\n      "command": "uvx",\r\n      "args": ["mcp-server-sqlite"]\r\n    }\r\n  },\r\n  "theme": "dark"\r\n}\r\n`,
} as const;

let folder = "";
let file = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wrap-"));
  file = join(folder, "mcp.json");
});

const read = (name = file) => readFileSync(name, "utf8");

describe.each(Object.entries(FILES))("wrapping %s", (_client, original) => {
  beforeEach(() => writeFileSync(file, original));

  it("leaves one server, which reads the original servers", () => {
    const { outcome, servers } = wrapFile(file);
    expect(outcome).toBe("wrapped");
    const [only, ...others] = readConfiguration(read());
    expect(others).toEqual([]);
    expect(only?.address).toMatchObject({
      command: "npx",
      args: ["-y", "byref", "mcp", "--config", `${file}.byref.json`],
    });
    expect(readConfiguration(read(`${file}.byref.json`)).map(({ name }) => name)).toEqual(servers);
  });

  it("is undone byte for byte", () => {
    wrapFile(file);
    expect(unwrapFile(file).outcome).toBe("unwrapped");
    expect(read()).toBe(original);
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

  it("keeps the file's mode, which may be private, for the copy too", () => {
    chmodSync(file, 0o600);
    wrapFile(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(`${file}.byref.json`).mode & 0o777).toBe(0o600);
  });
});

describe("unwrapping a file that was changed", () => {
  it("joins the servers that were added to the original ones, and keeps other changes", () => {
    writeFileSync(file, FILES[".vscode/mcp.json"]);
    wrapFile(file);
    const changed = read().replace(
      '"servers": {',
      '"servers": {\n        "new": {"command": "n"},',
    );
    writeFileSync(file, changed.replace("Asked for once", "Asked for twice"));
    const { outcome, servers } = unwrapFile(file);
    expect(outcome).toBe("merged");
    expect(servers).toEqual(["perplexity", "new"]);
    expect(read()).toContain("Asked for twice");
    expect(readConfiguration(read()).map(({ name }) => name)).toEqual(["perplexity", "new"]);
  });
});

describe("wrapping", () => {
  it("refuses a file that is no client's configuration, and leaves it", () => {
    writeFileSync(file, '{"name": "package"}');
    expect(() => wrapFile(file)).toThrow("neither");
    expect(read()).toBe('{"name": "package"}');
  });

  it("does nothing to a file without servers", () => {
    writeFileSync(file, '{"mcpServers": {}}');
    expect(wrapFile(file).outcome).toBe("unchanged");
  });
});
