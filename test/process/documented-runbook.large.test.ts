import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { bundleWorker } from "../../packages/gateway/src/bundle/bundle-worker.ts";
import { commandsIn, isAsShown, isOfThisMonth } from "../support/documented-commands.ts";
import { blockOf } from "../support/fences.ts";
import { temporaryFolder } from "../support/server.ts";
import { Shell } from "../support/shell.ts";
import { type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { type Loopback, startLoopback, textOf } from "../support/loopback.ts";
import { type SentSpan, spansIn } from "../support/telemetry.ts";

interface Export {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly spans: readonly SentSpan[];
}

/** An OTLP/HTTP collector on the loopback address. */
interface Collector extends Loopback {
  /** Everything received so far. */
  readonly exports: readonly Export[];
  /** Sets how it responds. Default: it accepts everything. */
  answer: (response: ServerResponse) => void;
}

async function startCollector(): Promise<Collector> {
  const exports: Export[] = [];
  const collector = {
    exports,
    answer: (response: ServerResponse) => {
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    },
  };
  const server = await startLoopback(async (request, response) => {
    const body = await textOf(request);
    const { method, url: path, headers } = request;
    exports.push({ method, path, headers, body, spans: spansIn(body) });
    collector.answer(response);
  });
  return Object.assign(collector, server);
}

const root = join(import.meta.dirname, "../..");
const GUIDE = "docs/guides/runbook.md";

/** It is downloaded; the test has its own collector, which writes what the OpenTelemetry Collector writes. */
const RECEIVER = "npx -y @elastic/mockotlpserver ";

/** An application whose limit is a variable, as the runbook advises. */
const WORKER = `import { env } from "cloudflare:workers";
import { orders } from "${root}/examples/agents/orders.ts";
import { weather } from "${root}/examples/agents/weather.ts";
import { demoModels } from "${root}/examples/demo-model/demo-model.ts";
import { createRuntime, modelFromSettings, transfers } from "${root}/src/byref.ts";

const runtime = createRuntime({
  agents: [weather, orders],
  model: modelFromSettings(demoModels),
  transfer: transfers,
  spend: { tenant: { modelCalls: Number(env.CALLS_A_DAY), per: "day" } },
});
export class Conversation extends runtime.Conversation {}
export class Directory extends runtime.Directory {}
export default runtime.worker;
`;
const CONFIG = `name = "own"
main = "worker.ts"
compatibility_date = "2026-10-01"
vars = { CALLS_A_DAY = "500" }
migrations = [{ tag = "v1", new_sqlite_classes = ["Conversation", "Directory"] }]
[[durable_objects.bindings]]
name = "CONVERSATIONS"
class_name = "Conversation"
[[durable_objects.bindings]]
name = "DIRECTORY"
class_name = "Directory"
`;

const project = temporaryFolder();
let collector: Collector;
let shell: Shell;

beforeAll(async () => {
  writeFileSync(join(project, "worker.ts"), WORKER);
  writeFileSync(join(project, "wrangler.toml"), CONFIG);
  symlinkSync(join(root, "node_modules"), join(project, "node_modules"));
  const WORKER_DIR = join(project, "bundle");
  await bundleWorker({ project, folder: WORKER_DIR });
  collector = await startCollector();
  const PORT = String(await freePort());
  shell = new Shell({
    variables: { BYREF: root, PORT, WORKER_DIR },
    addresses: { "localhost:8787": `http://localhost:${PORT}`, "localhost:4318": collector.url },
    functions: blockOf(readFileSync(join(root, GUIDE), "utf8"), "bash"),
  });
  collector.answer = (response) => {
    appendFileSync(join(shell.folder, "spans.ndjson"), `${collector.exports.at(-1)?.body}\n`);
    response.end("{}");
  };
});

afterAll(async () => {
  await shell?.run("stop");
  await collector?.down();
  shell?.close();
  rmSync(project, { recursive: true, force: true });
});

/** Lines of turns and spans are written when the client has its answer already. */
async function whenWritten(command: string, asked: number): Promise<void> {
  const turns = () =>
    readFileSync(join(shell.folder, "byref.log"), "utf8").match(/"event":"turn"/g);
  if (command.startsWith("turns")) await vi.waitFor(() => expect(turns()).toHaveLength(asked));
  if (command.startsWith("spans"))
    await vi.waitFor(() => expect(collector.exports).toHaveLength(1));
}

/** What the commands need beside bash. Ubuntu's curl of 2022 lacks `--json`. */
const NEEDED = "curl --json '{}' --version && jq --version && openssl version";

it.skipIf(spawnSync("bash", ["-c", NEEDED]).status !== 0)(
  "the runbook's commands print what it shows",
  async () => {
    const commands = commandsIn(GUIDE).filter(({ command }) => !command.startsWith(RECEIVER));
    expect(commands.length).toBeGreaterThan(20);
    let asked = 0;
    for (const { at, command, shown = "" } of commands) {
      await whenWritten(command, asked);
      const { code, output } = await shell.run(command);
      const said = `${at}: ${command}\nends with ${code}:\n${output}`;
      expect(code, said).toBe(0);
      expect(isOfThisMonth(shown), said).toBe(false);
      expect(isAsShown(shown, output), `${said}\nbut is shown as:\n${shown}`).toBe(true);
      if (command.includes("/messages ")) asked++;
    }
  },
);
