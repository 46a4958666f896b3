import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { ByrefError } from "../../../../src/errors.ts";

/** Returns the first configuration of a client that exists: in the working folder, then in the home folder. */
export function findConfiguration(): string {
  const candidates = [
    ".mcp.json",
    join(".cursor", "mcp.json"),
    join(".vscode", "mcp.json"),
    join(homedir(), ".cursor", "mcp.json"),
    ...claudeFiles(),
  ];
  const found = candidates.find((file) => existsSync(file));
  if (found !== undefined) return resolve(found);
  const message = `No configuration was found; name a file. These were tried: ${candidates.join(", ")}.`;
  throw new ByrefError("not_found", message);
}

function claudeFiles(): readonly string[] {
  const { APPDATA } = process.env;
  const name = "claude_desktop_config.json";
  const desktop =
    process.platform === "darwin"
      ? join(homedir(), "Library", "Application Support", "Claude", name)
      : join(APPDATA ?? join(homedir(), ".config"), "Claude", name);
  return [join(homedir(), ".claude.json"), desktop];
}
