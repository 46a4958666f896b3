import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { CLIENT_CONFIGURATIONS } from "../support/client-configurations.ts";
import { byref } from "../support/command-line.ts";

let folder = "";

beforeEach(() => void (folder = realpathSync(mkdtempSync(join(tmpdir(), "byref-wrap-")))));

const read = (file: string) => readFileSync(file, "utf8");

function written(path: string, text: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** Runs a command that must succeed, and returns its output. */
function run(...args: readonly string[]): string {
  const { status, stdout, stderr } = byref(["mcp", ...args], { folder });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

// Of other clients: packages/gateway/test/wrap-file.test.ts.
it("a configuration is wrapped and restored byte for byte", () => {
  const original = CLIENT_CONFIGURATIONS[".claude.json"];
  const file = written(".claude.json", original);
  expect(run("wrap", file)).toContain(`${file}: wrapped (`);
  const [wrapped, copy] = [read(file), read(`${file}.byref.json`)];
  expect(copy).toBe(original);
  expect(wrapped).not.toBe(copy);
  expect(run("wrap", file)).toContain("nothing to do");
  expect([read(file), read(`${file}.byref.json`)]).toEqual([wrapped, copy]);
  expect(run("unwrap", file)).toContain(`${file}: unwrapped (`);
  expect(read(file)).toBe(original);
  expect(run("unwrap", file)).toBe(
    `${file}: nothing to do.\nIt has no entry that byref mcp wrap wrote.\n`,
  );
  expect(readdirSync(folder)).toEqual([".claude.json"]);
});

it("without a file, wrap uses the working folder's first and then the home folder's", () => {
  const home = join(folder, "home");
  const working = join(folder, "work");
  const places = [
    [working, ".mcp.json"],
    [working, ".cursor/mcp.json"],
    [working, ".vscode/mcp.json"],
    [home, ".cursor/mcp.json"],
    [home, ".claude.json"],
    [home, ".config/Claude/claude_desktop_config.json"],
  ] as const;
  const files = places.map(([place, path]) => join(place, path));
  const env = { APPDATA: join(home, ".config") };
  for (const file of files) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, CLIENT_CONFIGURATIONS[".cursor/mcp.json"]);
  }
  // macOS uses another folder.
  const found = process.platform === "darwin" ? files.slice(0, -1) : files;
  for (const file of found) {
    const { stdout } = byref(["mcp", "wrap", "--dry-run"], { folder: working, home, env });
    expect(stdout).toContain(`${file}: would be wrapped`);
    rmSync(file);
  }
  for (const file of files) rmSync(file, { force: true });
  const { status, stderr } = byref(["mcp", "wrap"], { folder: working, home, env });
  expect(status).toBe(1);
  expect(stderr).toMatch(/name a file[^]*\.mcp\.json, [^]*\.claude\.json/u);
});
