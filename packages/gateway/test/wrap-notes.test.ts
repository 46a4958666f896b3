import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { wrapFile } from "../src/cli/wrap-file.ts";

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
  const file = join(mkdtempSync(join(tmpdir(), "wrap-notes-")), "mcp.json");
  writeFileSync(file, JSON.stringify({ mcpServers: { shop } }));
  expect(wrapFile(file).notes).toEqual(notes.map((note) => expect.stringMatching(note)));
});
