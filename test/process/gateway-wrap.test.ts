import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { CLIENT_CONFIGURATIONS } from "../support/client-configurations.ts";
import { byref } from "../support/command-line.ts";

it("without a file, wrap uses the working folder's first and then the home folder's", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "byref-wrap-")));
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
