import { spawn } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { freePort } from "../../scripts/local-worker.ts";
import { temporaryFolder } from "../support/server.ts";

const envFilesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith(".env"));

describe("npm that is killed", () => {
  it("takes the server with it, though nobody tells the script", async () => {
    const port = await freePort();
    const stateDir = temporaryFolder();
    const { PATH = "", HOME = "" } = process.env;
    // As npm does it: a shell of its own, which goes without a word.
    const shell = spawn("sh", ["-c", `'${process.execPath}' scripts/start.ts; exit $?`], {
      stdio: "ignore",
      env: { PATH, HOME, PORT: String(port), STATE_DIR: stateDir },
    });
    const isUp = () => fetch(`http://127.0.0.1:${port}/health`).then((response) => response.ok);
    await vi.waitFor(async () => expect(await isUp()).toBe(true), {
      timeout: 45_000,
      interval: 200,
    });
    shell.kill("SIGKILL");
    await vi.waitFor(() => expect(isUp()).rejects.toThrow("fetch failed"), {
      timeout: 15_000,
      interval: 200,
    });
    await vi.waitFor(() => expect(envFilesIn(stateDir)).toEqual([]), { timeout: 15_000 });
    rmSync(stateDir, { recursive: true, force: true });
  });
});
