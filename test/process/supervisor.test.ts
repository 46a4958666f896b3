import { execFileSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Server, startServer, temporaryFolder } from "../support/server.ts";
import { messagesOf, post, textOf } from "../support/turn-client.ts";

const RESTARTS_WITHIN_MS = 45_000;
/** Longer than a reader waits for the front's own answer, shorter than it takes to notice. */
const ASK_MS = 1_500;

const envFilesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith(".env"));

/** The wrangler that runs on this state, and its workerd processes, by their ids. */
function processesOn(stateDir: string) {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,args="]).toString().split("\n");
  const all = lines.map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []);
  const own = all.filter(([, , , args = ""]) => args.includes(`--persist-to=${stateDir}`));
  const family = new Set(own.map(([, pid]) => Number(pid)));
  for (let before = 0; before < family.size;) {
    before = family.size;
    for (const [, pid, parent] of all) if (family.has(Number(parent))) family.add(Number(pid));
  }
  return all.flatMap(([, pid, , args = ""]) =>
    family.has(Number(pid)) && /\/workerd\b.* serve /.test(args) ? [Number(pid)] : [],
  );
}

function health(server: Server): Promise<number | undefined> {
  return fetch(`${server.url}/health`, { signal: AbortSignal.timeout(ASK_MS) }).then(
    (response) => response.status,
    () => undefined,
  );
}

/** Waits until it answers again; the statuses that were seen meanwhile. */
async function untilUp(server: Server): Promise<ReadonlySet<number | undefined>> {
  const seen = new Set<number | undefined>();
  await vi.waitFor(
    async () => {
      const status = await health(server);
      seen.add(status);
      expect([status, server.output()]).toEqual([200, expect.stringContaining("restarted")]);
    },
    { timeout: RESTARTS_WITHIN_MS, interval: 100 },
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

  // As code does that never lets go of its thread: it holds its port and says nothing.
  it("is restarted on the same state, while the port answers 503", async () => {
    const before = await read();
    const workers = workersOn(stateDir);
    expect(workers).not.toEqual([]);
    const stoppedAt = performance.now();
    for (const pid of workers) process.kill(pid, "SIGSTOP");
    const seen = await untilUp(server);
    console.log(`answered again after ${Math.round(performance.now() - stoppedAt)} ms`);
    expect([...seen].filter((status) => status !== undefined).toSorted()).toEqual([200, 503]);
    expect(await read()).toEqual(before);
    expect(workersOn(stateDir).filter((pid) => workers.includes(pid))).toEqual([]);
    const lines = server.output().split("\n");
    expect(lines.filter((line) => line.includes("restarted"))).toEqual([
      "The Worker does not answer; it is restarted on the same state.",
    ]);
    expect(lines.filter((line) => line.startsWith("ready "))).toHaveLength(1);
    expect(envFilesIn(stateDir)).toHaveLength(1);
  });

  it("is restarted as well if it is gone", async () => {
    const before = await read();
    const linesBefore = server.output().length;
    for (const pid of workersOn(stateDir)) process.kill(pid, "SIGKILL");
    await vi.waitFor(() => expect(server.output().length).toBeGreaterThan(linesBefore), {
      timeout: RESTARTS_WITHIN_MS,
    });
    await untilUp(server);
    expect(await read()).toEqual(before);
  });

  it("is stopped as ever afterwards, and leaves nothing behind", async () => {
    const { code, survivors } = await server.stop("SIGTERM");
    expect({ code, survivors, files: envFilesIn(stateDir) }).toEqual({
      code: 0,
      survivors: 0,
      files: [],
    });
  });
});
