import { describe, expect, it } from "vitest";
import { type ServerAddress, secretsOf } from "../src/configuration.ts";
import { redact } from "../../mcp/src/secrets.ts";

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
  it("are found in a long word, in linear time", () => {
    const address = program({ DATA: `${"a-".repeat(500_000)}=b api_key=plain-key-1` });
    expect(redactedBy(address, "no plain-key-1")).toBe("no [secret]");
  });

  it.each([
    [program({ NODE_ENV: "production" }), "Deploy to production?"],
    [program({ PROJECT_DIR: "/home/me/shop" }), "open '/home/me/shop/src/index.ts'"],
    [program({ GOOGLE_APPLICATION_CREDENTIALS: "/home/me/key-1.json" }), "no /home/me/key-1.json"],
    [program({ SSH_AUTH_SOCK: "/run/user/1000/agent.1" }), "no /run/user/1000/agent.1"],
    [program({ TOKEN_FILE: String.raw`C:\Users\me\t.txt` }), String.raw`no C:\Users\me\t.txt`],
    [program({ CACHE: `/home/me/${RANDOM}/x` }), `open /home/me/${RANDOM}/x`],
    [program({ AUTH_MODE: "required" }), "Sign-in is required."],
    [program({ MODEL: "claude-sonnet-4-20250514" }), "no claude-sonnet-4-20250514"],
    [program({ MAX_TOKENS: "200000" }), "more than 200000"],
    [program({ GIT_AUTHOR_EMAIL: "ada@shop.example" }), "ada@shop.example is unknown"],
    [program({ BASE_URL: "https://shop.example/api/v1" }), "no https://shop.example/api/v1"],
    [program({ AUTH_URL: "https://shop.example/oauth" }), "no https://shop.example/oauth"],
    [program({ DB: "postgres://reader:geheim1@db.example/shop" }), "no reader at db.example/shop"],
    [program({}, ["--auth-mode", "required", "--root", "/home/me/shop"]), "required /home/me/shop"],
    [program({}, ["--key-file", "/home/me/shop.pem"]), "no /home/me/shop.pem"],
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
    [program({}, ["--api-key=argument-1"]), "argument-1"],
    [program({}, ["--header", "Authorization: Bearer argument-1"]), "argument-1"],
    [program({}, ["serve", `sk-${RANDOM}`]), `sk-${RANDOM}`],
    [remote("https://mcp.example/mcp?key=query-1"), "query-1"],
    [remote(`https://mcp.example/s/${RANDOM}/mcp`), RANDOM],
    [
      remote("https://mcp.example/u/1b4e28ba-2fa1-41d2-883f-0016d3cca427"),
      "1b4e28ba-2fa1-41d2-883f-0016d3cca427",
    ],
    [remote("https://mcp.example/mcp", { Authorization: "Bearer header-1" }), "header-1"],
    [remote("https://mcp.example/mcp", { "X-Api-Key": "header-1" }), "header-1"],
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
