import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it, vi } from "vitest";
import { gatewayCommand, nameIn, textIn } from "../support/gateway-process.ts";
import { samples } from "../support/slow.ts";
import { isAlive, STUBBORN } from "../support/stubborn-program.ts";

const RUNS = samples(40);
/** Simultaneous calls in each run. */
const CALLS = 6;

const folder = mkdtempSync(join(tmpdir(), "gateway-kills-"));
const [log, pidFile] = [join(folder, "log"), join(folder, "pid")];
writeFileSync(log, "");
const program = new URL("../support/acting-server.ts", import.meta.url).pathname;
const command = gatewayCommand(folder, { acting: [process.execPath, program, log, pidFile] });

async function start() {
  const transport = new StdioClientTransport({ ...command, stderr: "ignore" });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  const call = (name: string, args: Record<string, unknown>) =>
    client.callTool({ name, arguments: args });
  return { client, transport, call };
}

type Gateway = Awaited<ReturnType<typeof start>>;
type Result = Awaited<ReturnType<Gateway["call"]>>;

/** Confirmed outcomes of the calls of `act`. */
const done = new Set<string>();
const unknown = new Set<string>();
/** Ids of calls, by the variables that contain their results. */
const kept = new Map<string, string>();

function note(id: string, result: Result): void {
  if (result.isError !== true) {
    kept.set(nameIn(result), id);
    done.add(id);
    return;
  }
  if (textIn(result).startsWith("outcome_unknown")) unknown.add(id);
  else expect(textIn(result)).toMatch(/^server_unavailable/u);
}

/** Repeats a call until it has an outcome. A killed server is restarted after a pause. */
async function repeat({ call }: Gateway, input: { readonly id: string }): Promise<void> {
  await vi.waitUntil(
    async () => {
      note(input.id, await call("act", input));
      return done.has(input.id) || unknown.has(input.id);
    },
    { interval: 100 },
  );
}

/** Starts the gateway, makes some calls at once, and kills a process meanwhile. Returns the unanswered calls. */
async function runAndKill(gateway: Gateway, run: number) {
  const inputs = Array.from({ length: CALLS }, (_, index) => ({
    id: `${run}-${index}`,
    waitMs: (run * 7 + index * 5) % 30,
  }));
  const calls = inputs.map(async (input) => note(input.id, await gateway.call("act", input)));
  await pause((run * 13) % 60);
  const isOfGateway = run % 3 !== 0;
  const pid = isOfGateway ? gateway.transport.pid : Number(readFileSync(pidFile, "utf8"));
  if (pid == null) throw new Error("There is no process.");
  // A client ends its servers with SIGTERM.
  process.kill(pid, run % 3 === 1 ? "SIGTERM" : "SIGKILL");
  await Promise.allSettled(calls);
  const open = inputs.filter(({ id }) => !done.has(id) && !unknown.has(id));
  return { open, isOfGateway };
}

/** Waits until a killed server is restarted. */
function answered(call: () => Promise<Result>): Promise<Result> {
  const read = async () => {
    const result = await call();
    return textIn(result).startsWith("server_unavailable") ? undefined : result;
  };
  return vi.waitUntil(read, { interval: 100 });
}

async function expectAlive({ call }: Gateway): Promise<void> {
  for (const [name, id] of [...kept].slice(-8)) {
    const read = await answered(() => call("first_word", { text: `$${name}` }));
    expect(textIn(read)).toBe(`${id} of ${id.length + 5_001}`);
  }
}

it(`after ${RUNS} kills, all handles are readable, nothing ran twice, and unknown outcomes are reported`, async () => {
  let gateway = await start();
  for (let run = 0; run < RUNS; run++) {
    // The server is up.
    const input = { id: `page-${run}`, waitMs: 0 };
    const page = await answered(() => gateway.call("page", input));
    kept.set(nameIn(page), `page-${run}`);
    const { open, isOfGateway } = await runAndKill(gateway, run);
    if (isOfGateway) {
      await gateway.client.close();
      gateway = await start();
    }
    for (const input of open) await repeat(gateway, input);
    await expectAlive(gateway);
  }
  await gateway.client.close();
  const ran = readFileSync(log, "utf8").trim().split("\n");
  expect(new Set(ran).size).toBe(ran.length);
  expect(ran).toEqual(expect.arrayContaining([...done]));
  expect(done.size + unknown.size).toBe(RUNS * CALLS);
  // Calls were cut off at all points: before they ran, and afterwards.
  expect(unknown.size).toBeGreaterThan(RUNS / 2);
  console.log({ done: done.size, unknown: unknown.size, ran: ran.length, kept: kept.size });
});

const greeting = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
};
const listing = { jsonrpc: "2.0", id: 2, method: "tools/list" };

it.each(["the input", "SIGTERM", "SIGHUP"] as const)(
  "the end of %s ends the gateway and all programs, even those that ignore it",
  async (end) => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-ends-"));
    const pids = join(folder, "pids");
    const stubborn = [process.execPath, "-e", STUBBORN, pids];
    const { command, args } = gatewayCommand(folder, { one: stubborn, two: stubborn });
    const gateway = spawn(command, args, { stdio: ["pipe", "ignore", "ignore"] });
    const exited = once(gateway, "exit");
    for (const message of [greeting, listing]) gateway.stdin.write(`${JSON.stringify(message)}\n`);
    const started = await vi.waitFor(() => {
      const found = readFileSync(pids, "utf8").trim().split("\n").map(Number);
      expect(found).toHaveLength(4);
      return found;
    });
    if (end === "the input") gateway.stdin.end();
    else gateway.kill(end);
    // It has ended by itself.
    expect(await exited).toEqual([0, null]);
    // The system may need a moment.
    await vi.waitFor(() => expect(started.filter(isAlive)).toEqual([]));
  },
);
