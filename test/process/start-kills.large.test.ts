import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { processesMarked } from "../../scripts/tied-process.ts";
import { type Server, startServer, temporaryFolder } from "../support/server.ts";
import { samples } from "../support/slow.ts";
import { messagesOf, post, textOf } from "../support/turn-client.ts";

const KILLS = samples(20);
const ROUNDS_TAKE_MS = 20 * 60_000;
/** Sends a signal to a process, which may have ended already. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    expect(error).toMatchObject({ code: "ESRCH" });
  }
}

function commandOf(pid: number): string {
  const path = `/proc/${pid}/cmdline`;
  return existsSync(path) ? readFileSync(path, "latin1").replaceAll("\0", " ") : "";
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
    const { dev, ino } = statSync(join(stateDir, "lock.sqlite"), { bigint: true });
    return processesMarked({ BYREF_STATE_LOCK: `${dev}:${ino}` });
  }

  /** The shell that watches over wrangler has its command line, too. */
  const wranglers = () =>
    family().filter((pid) => /^(?!\/bin\/sh ).*wrangler\.js dev/.test(commandOf(pid)));

  it(
    "leaves one server, whichever processes are killed with it",
    async () => {
      const said = () => messagesOf(server.url + path).then((all) => all.map(textOf), String);
      const before = await said();
      for (let round = 0; round < KILLS; round++) {
        // Another choice of the processes in each round.
        const killed = [server.pid, ...family().filter((_, at) => ((round * 37) >> at) % 2 === 1)];
        // Stops all processes first, so that none of them sees another one end.
        for (const pid of killed) signal(pid, "SIGSTOP");
        for (const pid of killed) signal(pid, "SIGKILL");
        await server.exited;
        server = await start();
        expect(await said(), server.output()).toEqual(before);
        // Wrangler starts programs of the same name for a moment.
        await vi.waitFor(() => expect(wranglers()).toHaveLength(1));
      }
      const { code, survivors } = await server.stop("SIGTERM");
      expect({ code, survivors, left: family() }).toEqual({ code: 0, survivors: 0, left: [] });
    },
    ROUNDS_TAKE_MS,
  );
});
