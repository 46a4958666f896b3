import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { processesMarked } from "../../scripts/tied-process.ts";
import { lockState } from "../../scripts/state-lock.ts";
import { isRunning } from "../support/server.ts";
import { slow } from "../support/slow.ts";

const scripts = join(import.meta.dirname, "../../scripts");

/** Locks the folder, starts a program that starts another one, and prints the ids of all started processes. */
const OWNER = `
import { processesMarked, spawnTied } from "${scripts}/tied-process.ts";
import { lockState } from "${scripts}/state-lock.ts";
const [, folder] = process.argv;
const { mark } = await lockState(folder, 8787);
const command = ["/bin/sh", "-c", "sleep 600 & sleep 600"];
spawnTied(command, { env: { ...process.env, ...mark }, outputs: ["inherit", "inherit"] });
// The program, its watcher and two sleepers.
for (let pids = []; pids.length < 4;) {
  await new Promise((done) => setTimeout(done, 20));
  pids = processesMarked(mark);
  if (pids.length === 4) console.log(JSON.stringify(pids));
}
`;

interface Owner {
  readonly child: ChildProcess;
  /** Ids of the started processes; undefined if it did not get the lock. */
  readonly family: readonly number[] | undefined;
}

describe("a state folder", () => {
  let folder: string;
  let started: ChildProcess[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "byref-lock-"));
    started = [];
  });

  afterEach(async () => {
    for (const child of started) child.kill("SIGKILL");
    // Ends the processes that they have left.
    await (await lockState(folder, 1)).release();
    rmSync(folder, { recursive: true, force: true });
  });

  function spawnOwner() {
    const parameters = ["--input-type=module-typescript", "--eval", OWNER, folder];
    const child = spawn(process.execPath, parameters, { stdio: ["ignore", "pipe", "ignore"] });
    started.push(child);
    return child;
  }

  function startOwner(): Promise<Owner> {
    const child = spawnOwner();
    return new Promise((done) => {
      child.stdout.once("data", (text: Buffer) => {
        done({ child, family: JSON.parse(text.toString()) as number[] });
      });
      child.once("exit", () => done({ child, family: undefined }));
    });
  }

  it("has one owner, even if two start at once, whom the refusal names", slow, async () => {
    const owners = await Promise.all([startOwner(), startOwner()]);
    const [{ child: { pid } = {} } = {}, ...others] = owners.filter(({ family }) => family);
    expect(others).toEqual([]);
    const refusal = `is in use by process ${pid}, .*listens on port 8787.*kill ${pid}.*STATE_DIR`;
    await expect(lockState(folder, 1)).rejects.toThrow(new RegExp(refusal));
  });

  it("is released when its owner is killed, together with the owner's processes", async () => {
    const { child, family = [] } = await startOwner();
    child.kill("SIGKILL");
    await vi.waitFor(() => expect(family.filter(isRunning)).toEqual([]));
    await (await lockState(folder, 1)).release();
  });

  it.each([0, 3])("is cleared by the next if all processes but %i were killed", async (left) => {
    const { child, family = [] } = await startOwner();
    const killed = family.filter((_, index) => index !== left);
    for (const pid of killed) process.kill(pid, "SIGSTOP");
    child.kill("SIGKILL");
    for (const pid of killed) process.kill(pid, "SIGKILL");
    await new Promise((done) => child.once("exit", done));
    const lock = await lockState(folder, 1);
    expect([family.filter(isRunning), processesMarked(lock.mark)]).toEqual([[], []]);
    await lock.release();
  });

  // Stands in for a read-only folder, which root could write to.
  it.each(["file", "file/below", "taken"])("that is unusable is reported: %s", async (name) => {
    writeFileSync(join(folder, "file"), "");
    mkdirSync(join(folder, "taken/lock.sqlite"), { recursive: true });
    const path = join(folder, name);
    const refusal = `The state folder ${path} cannot be used: .*Set STATE_DIR`;
    await expect(lockState(path, 1)).rejects.toThrow(new RegExp(refusal));
  });

  it("is not blocked by a dead owner's file, even if its process id was reused", async () => {
    await (await lockState(folder, 1)).release();
    const owner = { pid: process.pid, startedAt: new Date().toISOString(), port: 8_787 };
    writeFileSync(join(folder, "owner.json"), JSON.stringify(owner));
    await (await lockState(folder, 1)).release();
  });
});
