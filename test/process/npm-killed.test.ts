import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { temporaryFolder } from "../support/server.ts";

/** Kills the start script that owns this folder, so that the test does not leave it behind. */
function killOwner(stateDir: string): void {
  try {
    const text = readFileSync(join(stateDir, "owner.json"), "utf8");
    process.kill((JSON.parse(text) as { pid: number }).pid, "SIGKILL");
  } catch {
    // The process has already ended.
  }
}

it.each([
  // There may be a shell between npm and the script, which goes on.
  ["npm", ["npm", "start"]],
  ["a shell", ["sh", "-c", `'${process.execPath}' scripts/start.ts; exit $?`]],
])("a killed starter stops the server, even %s", async (_, [program = "", ...parameters]) => {
  const port = await freePort();
  const stateDir = temporaryFolder();
  const { PATH = "", HOME = "" } = process.env;
  const starter = spawn(program, parameters, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH, HOME, PORT: String(port), STATE_DIR: stateDir },
  });
  let errors = "";
  starter.stderr?.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const isUp = () => fetch(`http://127.0.0.1:${port}/health`).then((response) => response.ok);
  try {
    await vi.waitFor(async () => expect(await isUp()).toBe(true));
    starter.kill("SIGKILL");
    await vi.waitFor(() => expect(isUp()).rejects.toThrow("fetch failed"));
    await vi.waitFor(() => expect(errors).toContain("so the server stops"));
  } finally {
    starter.kill("SIGKILL");
    killOwner(stateDir);
    rmSync(stateDir, { recursive: true, force: true });
  }
});
