import { describe, expect, it } from "vitest";
import {
  type ServerAddress,
  clientVariablesIn,
  readGateway,
  readConfiguration,
  unusableBecause,
} from "../src/configuration.ts";
import { redact, secretsOf } from "../src/servers/secrets.ts";

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

  it.each([
    ["", undefined],
    [', "byref": {}', undefined],
    [', "byref": { "tools": "list" }', "list"],
    [', "byref": { "tools": "search" }, // found', "search"],
  ])("says beside the servers how tools are offered%s", (written, offer) => {
    expect(readGateway(`{ "mcpServers": {}${written}\n}`, {}).tools).toBe(offer);
  });

  it.each(['"search"', "[]", '{"tools":"none"}', '{"tool":"search"}', '{"tools":{}}'])(
    "refuses how tools are offered if it cannot be read: %s",
    (written) => {
      expect(() => readGateway(`{"servers":{},"byref":${written}}`, {})).toThrow(
        '"byref" beside its servers is not',
      );
    },
  );

  it.each([
    ["${lower_case}/x", "/l/x"],
    ["${env:lower_case}", "/l"],
    ["${Mixed1}", "M"],
    ["${http_proxy:-http://proxy:80}", "http://proxy:80"],
    ["${env:http_proxy:-none}", "none"],
    ["${workspaceFolder:-.}", "."],
    ["${TWICE}", "${lower_case}"],
    // anthropics/claude-code#25563.
    ["${lower_case:-${HOME}/x}/y", "/l/y"],
    ["${NONE:-${HOME}/x}/y", "/home/me/x/y"],
    ["${NONE:-${NONE:-/z}}/y", "/z/y"],
    ["${NONE:-{}} ${NONE:-}", "{} "],
    ["${lower_case ${lower_case}", "${lower_case /l"],
    ["${input:key} ${workspaceFolder}/x", "${input:key} ${workspaceFolder}/x"],
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

  it.each([
    ["{}", 'It has neither "mcpServers" nor "servers".'],
    [
      '{"mcpServers": []}',
      'Its servers are not an object of servers by name, which cannot be "__proto__".',
    ],
    [
      '{"servers": {"__proto__": {"command": "x"}}}',
      'Its servers are not an object of servers by name, which cannot be "__proto__".',
    ],
    ["nonsense", "Line 1, column 1 is not JSON: invalid symbol."],
    ['{\n  "mcpServers": ]}', "Line 2, column 17 is not JSON: value expected."],
    ['{\n"a": 1\n"b": 2\n}\n', "Line 3, column 1 is not JSON: comma expected."],
  ])("names what is wrong with %j", (text, message) => {
    const said = `The configuration cannot be used. ${message}`;
    const refused = expect.objectContaining({ code: "bad_configuration", message: said });
    expect(() => readConfiguration(text)).toThrow(refused);
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
  ])("says why %j cannot be used", (server, part) => {
    const mcpServers = { one: server, good: { command: "good" } };
    const [one, good] = readConfiguration(JSON.stringify({ mcpServers }));
    expect(one?.problem).toContain(part);
    expect(good?.problem).toBeUndefined();
  });
});

const read = (server: object, environment = {}) =>
  readConfiguration(JSON.stringify({ mcpServers: { one: server } }), environment)[0];

describe("an entry that cannot be used", () => {
  it.each([
    [{ trustd: true }, 'Unrecognized key: "trustd" → at byref'],
    [{ tool: { "*": { sealed: true } } }, 'Unrecognized key: "tool" → at byref'],
    [{ tools: { "*": { sealled: true } } }, 'Unrecognized key: "sealled" → at byref.tools["*"]'],
    [{ approval: "yes" }, 'must be true, false or "untrusted" → at byref.approval'],
  ])("has a rule that is not one: %j", (byref, why) => {
    expect(read({ command: "x", byref })?.problem).toBe(`It is not a server: ✖ ${why}.`);
  });

  it.each([
    [["byref", "mcp"]],
    [["npx", "byref@1.0.0", "mcp", "--config", "x"]],
    [["C:\\tools\\byref", "mcp"]],
    [["node", "/home/me/byref/dist/cli/main.js", "mcp"]],
  ])("is a gateway itself: %j", ([command, ...args]) => {
    expect(unusableBecause({ command, args })).toBe("It is a gateway itself.");
  });

  it.each([
    [["byref"]],
    [["npx", "mcp", "byref"]],
    [["notbyref", "mcp"]],
    [["byref-tools", "mcp"]],
    [["node", "/byref/dist/cli/main.jsx", "mcp"]],
    [["byref@1\\other", "mcp"]],
  ])("is not %j, which is no gateway", ([command, ...args]) => {
    expect(unusableBecause({ command, args })).toBeUndefined();
    if (args.length === 0) expect(unusableBecause({ command })).toBeUndefined();
  });
});

/** Returns the environment that a client with these values starts the gateway with. */
function passedOn(texts: readonly string[], values: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(clientVariablesIn(texts)).map(([name, written]) => [name, values[written]]),
  );
}

describe("variables that the client fills in", () => {
  it("reach the servers behind the gateway through its environment", () => {
    const args = ["${workspaceFolder}/src", "--home=${userHome}", "${env:home_dir}", "${/}"];
    const env = { KEY: "Bearer ${input:api-key}" };
    const values = {
      "${workspaceFolder}": "/w",
      "${userHome}": "/h",
      "${env:home_dir}": "/e",
      "${/}": "/",
      "${input:api-key}": "secret",
    };
    const text = JSON.stringify({ servers: { one: { command: "x", args, env } } });
    const [one] = readConfiguration(text, passedOn([...args, env.KEY], values));
    expect(one?.address).toEqual({
      command: "x",
      args: ["/w/src", "--home=/h", "/e", "/"],
      env: { KEY: "Bearer secret" },
    });
  });

  it("exclude those that the gateway or a shell fills in", () => {
    expect(clientVariablesIn(["${TOKEN} ${env:TOKEN:-none} ${lower} $HOME $(pwd)"])).toEqual({});
    expect(clientVariablesIn(["${DIR:-${workspaceFolder}/x}"])).toEqual({
      BYREF_WORKSPACEFOLDER: "${workspaceFolder}",
    });
  });
});

const program = (env: Readonly<Record<string, string>>, args: readonly string[] = []) => ({
  command: "x",
  args,
  env,
});
const remote = (url: string, headers: Readonly<Record<string, string>> = {}) => ({ url, headers });

const RANDOM = "aX9fQ2mZ5bR8kT1c";

function redactedBy(address: ServerAddress, text: string, secrets: readonly string[] = []) {
  return redact(text, secretsOf({ address, secrets }));
}

describe("the secrets of a server", () => {
  it.each(["a-", "a=", "key="])("are found in linear time beside many of %j", (part) => {
    const address = program({ DATA: `${part.repeat(500_000)}=b api_key=plain-key-1` });
    expect(redactedBy(address, "no plain-key-1")).toBe("no [secret]");
  });

  it.each([
    [program({ NODE_ENV: "production" }), "Deploy to production?"],
    [program({ PROJECT_DIR: "/home/me/shop" }), "open '/home/me/shop/src/index.ts'"],
    [program({ GOOGLE_APPLICATION_CREDENTIALS: "/home/me/key-1.json" }), "no /home/me/key-1.json"],
    [program({ TOKEN_FILE: String.raw`C:\Users\me\t.txt` }), String.raw`no C:\Users\me\t.txt`],
    [program({ CACHE: `/home/me/${RANDOM}/x` }), `open /home/me/${RANDOM}/x`],
    [program({ AUTH_MODE: "required" }), "Sign-in is required."],
    [program({ MODEL: "claude-sonnet-4-20250514" }), "no claude-sonnet-4-20250514"],
    [program({ MAX_TOKENS: "200000" }), "more than 200000"],
    [program({ GIT_AUTHOR_EMAIL: "ada@shop.example" }), "ada@shop.example is unknown"],
    [program({ AUTH_URL: "https://shop.example/oauth" }), "no https://shop.example/oauth"],
    [program({ DB: "postgres://reader:geheim1@db.example/shop" }), "no reader at db.example/shop"],
    [program({}, ["--auth-mode", "required", "--root", "/home/me/shop"]), "required /home/me/shop"],
    [remote("https://mcp.example/workspaces/production/mcp"), "no /workspaces/production/mcp"],
    [remote("https://mcp.example/mcp", { "X-Region": "eu-central-1" }), "no eu-central-1"],
  ])("of %j are not in %j", (address, text) => {
    expect(redactedBy(address, text)).toBe(text);
  });

  it.each([
    [program({ API_KEY: "plain-key-1" }), "plain-key-1"],
    [program({ DB_PASSWORD: "correct horse battery" }), "correct horse battery"],
    [program({ AWS_SECRET_ACCESS_KEY: "/x8Kd9aX9fQ2mZ5b/R8kT1cLm" }), "/x8Kd9aX9fQ2mZ5b/R8kT1cLm"],
    [program({ SETTING: `sk-live-${RANDOM}` }), `sk-live-${RANDOM}`],
    [program({ DB: "postgres://reader:geheim1@db.example/shop" }), "geheim1"],
    [program({ DB: "mongodb://a:geheim1@one:27017,two:27017/x" }), "geheim1"],
    [program({ DB: "Server=db;User=sa;Password=P4ss!word" }), "P4ss!word"],
    [program({ CONFIG: '{"apiKey": "inner-key-1"}' }), "inner-key-1"],
    [program({ REMOTE: `https://${RANDOM}@git.example/shop` }), RANDOM],
    [program({ PROXY: "http://proxy:80?token=a%2Bb%2Bc123" }), "a+b+c123"],
    [program({}, ["--api-key", "argument-1"]), "argument-1"],
    [program({}, ["--header", "Authorization: Bearer argument-1"]), "argument-1"],
    [remote("https://mcp.example/mcp?key=query-1"), "query-1"],
    [remote(`https://mcp.example/s/${RANDOM}/mcp`), RANDOM],
    [
      remote("https://mcp.example/u/1b4e28ba-2fa1-41d2-883f-0016d3cca427"),
      "1b4e28ba-2fa1-41d2-883f-0016d3cca427",
    ],
    [remote("https://mcp.example/mcp", { Authorization: "Bearer header-1" }), "header-1"],
  ])("of %j are replaced: %s", (address, secret) => {
    for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]) {
      expect(redactedBy(address, `Refused: ${form}.`)).toBe("Refused: [secret].");
    }
  });

  it("are also what the configuration names, be it a word", () => {
    const address = program({ CODEWORD: "dragon", EMPTY: "", PLACE: "cave" });
    const said = "The dragon is in the cave.";
    expect(redactedBy(address, said, ["CODEWORD", "EMPTY"])).toBe("The [secret] is in the cave.");
    const there = remote("https://mcp.example/mcp", { "X-Codeword": "dragon" });
    expect(redactedBy(there, said, ["X-Codeword"])).toBe("The [secret] is in the cave.");
  });
});
