/**
 * Compares MCP servers behind `byref mcp` with the same servers alone: `npm run bench -- gateway`. Builds the
 * package first, because a client starts the built program. All times are measured in the client.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import {
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import {
  EVERYTHING,
  FILESYSTEM,
  gatewayCommand,
  MEMORY,
  nameIn,
  textIn,
} from "../test/support/gateway-process.ts";
import { plainRow, ratioRows, report, type Row } from "./results.ts";
import { isQuick } from "./sides.ts";
import { interleave, median } from "./statistics.ts";

const CALLS = isQuick ? 100 : 1_000;
const ROOT = join(import.meta.dirname, "..");
const MAIN = join(ROOT, "dist/cli/main.js");
const CHARS_OF_FILE = 4_000_000;

execFileSync(process.execPath, ["scripts/build.ts"], {
  cwd: ROOT,
  stdio: ["ignore", "ignore", "inherit"],
});
const folder = mkdtempSync(join(tmpdir(), "bench-gateway-"));
const files = join(folder, "files");
mkdirSync(files);
const servers = { files: [...FILESYSTEM, files], everything: EVERYTHING, memory: MEMORY };
const { command, args } = gatewayCommand(folder, servers);
const gateway = [command, MAIN, ...args.slice(1)];

try {
  report({ rows: [...(await callRows()), ...(await valueRows())] });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function connected(transport: Transport): Promise<Client> {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(transport);
  return client;
}

function started([program = "", ...given]: readonly string[]): Promise<Client> {
  const options = { command: program, args: [...given], stderr: "ignore" as const };
  return connected(new StdioClientTransport(options));
}

/** One small call after the other, over each transport, in both orders. */
async function callRows(): Promise<readonly Row[]> {
  const own = await listening([...gateway, "--http", "0"], /http:\S+/u);
  const port = String(20_000 + (process.pid % 20_000));
  const given = [...EVERYTHING, "streamableHttp"];
  const alone = await listening(given, /listening/iu, { ...process.env, PORT: port });
  const http = (url: string) => connected(new StreamableHTTPClientTransport(new URL(url)));
  const clients = {
    stdio: { ours: await started(gateway), alone: await started(EVERYTHING) },
    HTTP: { ours: await http(own.url), alone: await http(`http://127.0.0.1:${port}/mcp`) },
  };
  const rows: Row[] = [];
  for (const [name, sides] of Object.entries(clients)) {
    const call = async (side: "ours" | "alone", round: number) => {
      const beganMs = performance.now();
      const given = { name: "echo", arguments: { message: `${round}` } };
      const result = await sides[side].callTool(given);
      const ms = performance.now() - beganMs;
      if (textIn(result) !== `Echo: ${round}`) throw new Error(textIn(result));
      return ms;
    };
    const warm = await interleave(["ours", "alone"], 50, call);
    const samples = await interleave(["ours", "alone"], CALLS, call);
    if (warm.ours.length !== 50) throw new Error("It did not warm up.");
    const title = `small call over ${name}`;
    rows.push(...ratioRows({ name: title, samples, unit: "ms", against: { alone: null } }));
    const value = median(samples.ours) - median(samples.alone);
    const more = { name: `${title}: more than alone`, value, unit: "ms", against: "alone" };
    rows.push(plainRow(more, 3));
    await Promise.all(Object.values(sides).map((client) => client.close()));
  }
  for (const { process: running } of [own, alone]) running.kill();
  return rows;
}

/** Starts a server over HTTP, and waits for the line that says so. */
async function listening(
  [program = "", ...given]: readonly string[],
  ready: RegExp,
  env = process.env,
): Promise<{ readonly process: ChildProcess; readonly url: string }> {
  const running = spawn(program, given, { env, stdio: ["ignore", "ignore", "pipe"] });
  for await (const line of createInterface({ input: running.stderr })) {
    const [url] = ready.exec(line) ?? [];
    if (url === undefined) continue;
    running.stderr.resume();
    return { process: running, url };
  }
  throw new Error(`${program} ended.`);
}

/** A large value from one server to another: what passes the client, and whether it is the same. */
async function valueRows(): Promise<readonly Row[]> {
  const client = await started(gateway);
  let sent = 0;
  const call = async (name: string, input: Record<string, unknown>) => {
    const result = await client.callTool({ name, arguments: input });
    sent += JSON.stringify([name, input, result]).length;
    return result;
  };
  const from = join(files, "from");
  const to = join(files, "to");
  const copied = async (text: string) => {
    writeFileSync(from, text);
    const read = await call("read_text_file", { path: from });
    await call("write_file", { path: to, content: `$${nameIn(read)}.content` });
    return readFileSync(to, "utf8") === text;
  };
  const line = 'ü𝄞 \\ "quoted" $orders[0] \t\r\n';
  const isSame = await copied(line.repeat(CHARS_OF_FILE / line.length));
  await client.close();
  const copy = "file of 4 MB, read by one server, written by another";
  return [
    plainRow({ name: `${copy}: through the client`, value: sent, unit: "characters" }, 2_000),
    plainRow({ name: `${copy}: copies that differ`, value: isSame ? 0 : 1, unit: "of 1" }, 0),
  ];
}
