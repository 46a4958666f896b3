import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { unwrapFile, type WrapOptions, wrapFile } from "../src/cli/wrap-file.ts";

const SERVERS = { shop: { command: "shop" }, "my crm": { command: "crm" } };
let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wrap-rules-"));
});

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

  it("if a rule names it beside a link to its file (anthropics/claude-code#5938)", () => {
    const shared = written("shared/mcp.json", { mcpServers: SERVERS });
    written("shop/.claude/settings.json", { permissions: { deny: ["mcp__shop__drop"] } });
    const file = join(folder, "shop", ".mcp.json");
    symlinkSync(shared, file);
    expect(wrapped(file).servers).toEqual(["my crm"]);
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
  });

  it.each([
    [{ env: { KEY: "$SHOP_KEY" } }, "$SHOP_KEY", "${SHOP_KEY}"],
    [{ args: ["--root=$HOME/shop"] }, "$HOME", "${HOME}"],
  ])("if only Gemini CLI fills in its %j (google-gemini/gemini-cli#28248)", (keys, from, to) => {
    const mcpServers = { ...SERVERS, shop: { command: "shop", ...keys } };
    const { servers, notes } = wrapped(written(".gemini/settings.json", { mcpServers }));
    expect(servers).toEqual(["my crm"]);
    expect(notes).toEqual([
      `shop stays outside the gateway. Only the client fills in ${from}. Write ${to} there and run wrap again.`,
    ]);
    expect(wrapped(written("mcp.json", { mcpServers })).servers).toEqual(["shop", "my crm"]);
  });

  it("if a setting of Claude Code turns it off", () => {
    const file = written(".mcp.json", { mcpServers: SERVERS });
    written(".claude/settings.json", { disabledMcpjsonServers: ["shop"] });
    const { servers, notes } = wrapped(file);
    expect(servers).toEqual(["my crm"]);
    expect(notes.join()).toContain('"disabledMcpjsonServers" in ');
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

  it.each([[{ mcp: { allowed: ["shop"] } }], [{ allowMCPServers: ["shop"] }]])(
    "if a list of Gemini CLI decides which servers start: %j",
    (keys) => {
      const file = written("settings.json", { ...keys, mcpServers: SERVERS });
      const { servers, notes } = wrapped(file);
      expect(servers).toEqual([]);
      expect(notes).toHaveLength(2);
      expect(notes.join()).toMatch(/my crm stays outside the gateway. ".*llow.*" in .* decides/u);
    },
  );

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

const SIGN_IN =
  /^shop: the gateway cannot sign in .* "headers" in .*mcp\.json\.byref\.json, or .+ --except shop\.$/u;
const URL_OF_SHOP = "https://shop.example/mcp";

it.each([
  [{ url: URL_OF_SHOP }, [SIGN_IN]],
  [{ url: URL_OF_SHOP, headers: { "X-Team": "a" } }, [SIGN_IN]],
  [{ url: URL_OF_SHOP, headers: { Authorization: "Bearer ${SHOP_TOKEN}" } }, []],
  [{ url: URL_OF_SHOP, headers: { "x-api-key": "${KEY}" } }, []],
  [{ url: `${URL_OF_SHOP}?api_key=abcdef123456` }, []],
  [{ url: "http://localhost:3000/mcp" }, []],
  [{ url: "http://127.0.0.1:3000/sse", type: "sse" }, []],
  [{ disabledTools: ["drop"] }, [/^shop: its "disabledTools" applies behind the gateway, too/u]],
  [
    { includeTools: ["a"], excludeTools: ["b"] },
    [/"excludeTools" applies/u, /"includeTools" applies/u],
  ],
  [
    { alwaysAllow: ["get"] },
    [/its "alwaysAllow" .* asks again .* write "alwaysAllow": \["get"\] into .* all servers\.$/u],
  ],
  [{ trust: true }, [/^shop: .* write "trust": true into /u]],
  [{ trust: false, alwaysAllow: [], autoApprove: [] }, []],
  // can1357/oh-my-pi#5774.
  [{ timeout: 300 }, [/^shop: its "timeout" .* waits .* write "timeout": 300 into /u]],
])("wrapping says what becomes of %j", (keys, notes) => {
  const file = written("mcp.json", {
    mcpServers: { shop: "url" in keys ? keys : { command: "shop", ...keys } },
  });
  expect(wrapped(file).notes).toEqual(notes.map((note) => expect.stringMatching(note)));
});
