import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { processesMarked } from "../../scripts/processes.ts";
import { type Server, startServer, temporaryFolder } from "../support/server.ts";
import { samples } from "../support/slow.ts";
import { messagesOf, post, textOf } from "../support/turn-client.ts";

const KILLS = samples(20);
const SEED = 20_261_123;
const ROUNDS_TAKE_MS = 20 * 60_000;
/** A Worker that does not answer is noticed after some seconds, and restarted. */

const envFilesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith(".env"));

/** Returns a generator of numbers from 0 to below 1 that are the same in each run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Sends a signal to a process, which may have ended already. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    expect(error).toMatchObject({ code: "ESRCH" });
  }
}

/** Group id from `/proc/PID/stat`; NaN if the process has just ended. */
function groupOf(pid: number): number {
  return Number(fileOf(pid, "stat").split(") ").at(-1)?.split(" ")[2]);
}

function commandOf(pid: number): string {
  return fileOf(pid, "cmdline").replaceAll("\0", " ");
}

function fileOf(pid: number, name: string): string {
  const path = `/proc/${pid}/${name}`;
  return existsSync(path) ? readFileSync(path, "latin1") : "";
}

describe("npm start", () => {
  const stateDir = temporaryFolder();
  const path = "/conversations/kept";
  const key = "sk-key-of-this-test";
  let server: Server;
  const start = () => startServer({ STATE_DIR: stateDir, MODEL_API_KEY: key });

  beforeAll(async () => {
    server = await start();
    await (await post(server.url + path, "What's the weather in NYC?")).text();
  });

  afterAll(async () => {
    await server?.stop();
    rmSync(stateDir, { recursive: true, force: true });
  });

  function family(): readonly number[] {
    const owner = JSON.parse(readFileSync(join(stateDir, "owner.json"), "utf8")) as {
      mark: string;
    };
    return processesMarked({ BYREF_STATE_LOCK: owner.mark });
  }

  /** Besides wrangler, the process that runs code leads a process group. */
  function counts() {
    const all = family();
    const leaders = all.filter((pid) => groupOf(pid) === pid);
    const servers = leaders.filter((pid) => commandOf(pid).includes("wrangler.js dev")).length;
    const strays = all.filter((pid) => !leaders.includes(groupOf(pid))).length;
    const others = leaders.length - servers - 1;
    return { servers, strays: strays + Math.max(0, others), files: envFilesIn(stateDir).length };
  }

  it(
    "leaves one server and no keys, whichever processes are killed",
    async () => {
      const random = randomNumbers(SEED);
      let mostServers = 0;
      let left = 0;
      let filesLeft = 0;
      const said = () => messagesOf(server.url + path).then((all) => all.map(textOf), String);
      const before = await said();
      for (let round = 0; round < KILLS; round++) {
        const isStarterKilled = random() < 0.6;
        const killed = family().filter(() => random() < 0.5);
        const all = isStarterKilled ? [server.pid, ...killed] : killed;
        // Stops all processes first, so that none of them sees another one end.
        for (const pid of all) signal(pid, "SIGSTOP");
        for (const pid of all) signal(pid, "SIGKILL");
        if (isStarterKilled) {
          await server.exited;
          server = await start();
        }
        // A server that lost processes restarts; the counts are taken afterwards.
        await vi
          .waitFor(async () => {
            expect(await said(), server.output()).toEqual(before);
            expect(counts()).toEqual({ servers: 1, strays: 0, files: 1 });
          })
          .catch(() => undefined);
        const { servers, strays, files } = counts();
        mostServers = Math.max(mostServers, servers);
        left += strays;
        filesLeft += files - 1;
        expect(await said(), server.output()).toEqual(before);
      }
      const { code, survivors } = await server.stop("SIGTERM");
      expect({ code, survivors }).toEqual({ code: 0, survivors: 0 });
      left += family().length;
      filesLeft += envFilesIn(stateDir).length;
      expect({ mostServers, left, filesLeft }).toEqual({ mostServers: 1, left: 0, filesLeft: 0 });
    },
    ROUNDS_TAKE_MS,
  );
});
