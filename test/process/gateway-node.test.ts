import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { byref } from "../support/command-line.ts";

describe("with a Node that has no SQLite", () => {
  const env = { NODE_OPTIONS: "--no-experimental-sqlite" };
  const original = JSON.stringify({ mcpServers: { shop: { command: "shop" } } });

  /** Makes a folder with a client's configuration. */
  function madeFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), "gateway-node-"));
    writeFileSync(join(folder, ".mcp.json"), original);
    return folder;
  }

  it.each([
    ["", ["--config", ".mcp.json"]],
    ["--", ["--", "shop"]],
    ["stats", ["stats"]],
    ["wrap", ["wrap"]],
  ])("byref mcp %s says which it needs, and changes nothing", (_what, args) => {
    const folder = madeFolder();
    const { status, stdout, stderr } = byref(["mcp", ...args, "--state", "state"], { folder, env });
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    const found = `${process.version}, at ${process.execPath}`;
    expect(stderr).toContain(`byref mcp needs Node 22.13 or newer; this is ${found}.`);
    expect(readdirSync(folder)).toEqual([".mcp.json"]);
    expect(readFileSync(join(folder, ".mcp.json"), "utf8")).toBe(original);
  });

  it("byref mcp unwrap restores a configuration", () => {
    const folder = madeFolder();
    byref(["mcp", "wrap"], { folder });
    expect(readFileSync(join(folder, ".mcp.json"), "utf8")).not.toBe(original);
    const unwrap = () => byref(["mcp", "unwrap"], { folder, env });
    const stdout = expect.stringMatching(/\.mcp\.json: unwrapped \(shop\)\.\n$/u);
    expect(unwrap()).toMatchObject({ status: 0, stderr: "", stdout });
    expect(readFileSync(join(folder, ".mcp.json"), "utf8")).toBe(original);
    expect(unwrap().stdout).toContain(
      "nothing to do.\nIt has no entry that byref mcp wrap wrote.\n",
    );
  });
});
