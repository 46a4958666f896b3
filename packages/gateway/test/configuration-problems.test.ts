import { describe, expect, it } from "vitest";
import { readConfiguration, unusableBecause } from "../src/configuration.ts";

const read = (server: object, environment = {}) =>
  readConfiguration(JSON.stringify({ mcpServers: { one: server } }), environment)[0];

describe("the message about a text that is no configuration", () => {
  it.each([
    ["nonsense", "Line 1, column 1 is not JSON: invalid symbol."],
    ['{\n  "mcpServers": ]}', "Line 2, column 17 is not JSON: value expected."],
    ['{\n"a": 1\n"b": 2\n}\n', "Line 3, column 1 is not JSON: comma expected."],
  ])("names the line and the column where %j is wrong", (text, message) => {
    expect(() => readConfiguration(text)).toThrow(`The configuration cannot be used. ${message}`);
  });

  it("says what is missing", () => {
    expect(() => readConfiguration("{}")).toThrow('It has neither "mcpServers" nor "servers".');
    expect(() => readConfiguration('{"servers": 1}')).toThrow(
      "Its servers are not an object of servers by name.",
    );
  });
});

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
    [["npx", "-y", "byref", "mcp"]],
    [["npx", "byref@1.0.0", "mcp", "--config", "x"]],
    [["/usr/bin/byref", "mcp"]],
    [["C:\\tools\\byref", "mcp"]],
    [["node", "/home/me/byref/dist/cli/main.js", "mcp"]],
    [["node", "C:\\byref\\dist\\cli\\main.js", "mcp"]],
  ])("is a gateway itself: %j", ([command, ...args]) => {
    expect(unusableBecause({ command, args })).toBe("It is a gateway itself.");
  });

  it.each([
    [["mcp"]],
    [["byref"]],
    [["byref", "wrap"]],
    [["npx", "mcp", "byref"]],
    [["notbyref", "mcp"]],
    [["byref-tools", "mcp"]],
    [["node", "/byref/dist/cli/main.jsx", "mcp"]],
    [["byref@1/other", "mcp"]],
    [["byref@1\\other", "mcp"]],
  ])("is not %j, which is no gateway", ([command, ...args]) => {
    expect(unusableBecause({ command, args })).toBeUndefined();
    if (args.length === 0) expect(unusableBecause({ command })).toBeUndefined();
  });
});
