import { execFileSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { isRunning } from "../../scripts/processes.ts";
import { type Server, startServer, temporaryFolder } from "../support/server.ts";
import { messagesOf, post, textOf } from "../support/turn-client.ts";

/** A silent Worker is checked for 30 s before it is restarted, and starts slowly on a busy machine. */
/** Longer than the front needs for its own answer, shorter than the supervisor needs to notice. */
const ASK_MS = 1_500;

const envFilesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith(".env"));

/** Process ids of the wrangler that runs on this state, and of its workerd processes. */
function processesOn(stateDir: string) {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,args="]).toString().split("\n");
  const all = lines.map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []);
  const own = all.filter(([, , , args = ""]) => args.includes(`--persist-to=${stateDir}`));
  const wranglers = own.map(([, pid]) => Number(pid));
  const family = new Set(wranglers);
  for (let before = 0; before < family.size;) {
    before = family.size;
    for (const [, pid, parent] of all) if (family.has(Number(parent))) family.add(Number(pid));
  }
  const isWorker = ([, pid, , args = ""]: readonly string[]) =>
    family.has(Number(pid)) && /\/workerd\b.* serve /.test(args);
  return { wranglers, workers: all.filter(isWorker).map(([, pid]) => Number(pid)) };
}

function health(server: Server): Promise<number | undefined> {
  return fetch(`${server.url}/health`, { signal: AbortSignal.timeout(ASK_MS) }).then(
    (response) => response.status,
    () => undefined,
  );
}

/** Waits for the next restart, and until the server answers again. Returns the statuses meanwhile. */
async function restarted(server: Server, work: () => void): Promise<ReadonlySet<number>> {
  const restarts = () => server.output().split("it is restarted").length;
  const before = restarts();
  const seen = new Set<number>();
  work();
  await vi.waitFor(
    async () => {
      const status = await health(server);
      if (status !== undefined) seen.add(status);
      expect([restarts(), status]).toEqual([before + 1, 200]);
    },
    { interval: 100 },
  );
  return seen;
}

describe("a local Worker that stops answering", () => {
  const stateDir = temporaryFolder();
  const path = "/conversations/kept";
  let server: Server;

  beforeAll(async () => {
    server = await startServer({ STATE_DIR: stateDir });
    await fetch(`${server.url}${path}/variables/note`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ list: [1, "zwei"] }),
    });
    await (await post(server.url + path, "What's the weather in NYC?")).text();
  });

  afterAll(async () => {
    await server?.stop();
    rmSync(stateDir, { recursive: true, force: true });
  });

  const read = async () => {
    const value = await fetch(`${server.url}${path}/variables/note`);
    return [await value.json(), (await messagesOf(server.url + path)).map(textOf)];
  };

  // Like code that never yields: the process keeps its port and does not answer.
  it("is restarted on the same state, while the port answers 503", async () => {
    const before = await read();
    const { workers } = processesOn(stateDir);
    expect(workers).not.toEqual([]);
    const stoppedAt = performance.now();
    const seen = await restarted(server, () => {
      for (const pid of workers) process.kill(pid, "SIGSTOP");
    });
    console.log(`answered again after ${Math.round(performance.now() - stoppedAt)} ms`);
    expect([...seen].toSorted()).toEqual([200, 503]);
    expect(await read()).toEqual(before);
    expect(workers.filter(isRunning)).toEqual([]);
    const lines = server.output().split("\n");
    expect(lines.filter((line) => line.includes("restarted"))).toEqual([
      "The Worker does not answer; it is restarted on the same state.",
    ]);
    expect(lines.filter((line) => line.startsWith("ready "))).toHaveLength(1);
    expect(envFilesIn(stateDir)).toHaveLength(1);
  });

  it("is restarted if wrangler was killed, and its Workers end", async () => {
    const before = await read();
    const { wranglers, workers } = processesOn(stateDir);
    await restarted(server, () => {
      for (const pid of wranglers) process.kill(pid, "SIGKILL");
    });
    expect(server.output()).toContain("The Worker has ended; it is restarted on the same state.");
    expect(await read()).toEqual(before);
    await vi.waitFor(() => expect(workers.filter(isRunning)).toEqual([]));
  });

  // Without memory, workerd exits by itself.
  it("is restarted if workerd itself was killed", async () => {
    const before = await read();
    for (const pid of processesOn(stateDir).workers) process.kill(pid, "SIGKILL");
    await vi.waitFor(async () => expect(await read()).toEqual(before), {
      interval: 200,
    });
  });

  it("stops as usual afterwards, and leaves nothing behind", async () => {
    const { code, survivors } = await server.stop("SIGTERM");
    expect({ code, survivors, files: envFilesIn(stateDir) }).toEqual({
      code: 0,
      survivors: 0,
      files: [],
    });
  });
});
