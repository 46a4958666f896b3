import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { messageOf } from "../errors.ts";
import { readConfiguration, type ServerConfiguration } from "../gateway/configuration.ts";
import { type Counts, withTokens } from "../gateway/statistics.ts";
import { version } from "../version.ts";
import { runGateway } from "./run-gateway.ts";
import { openStatistics, stateFolder } from "./state.ts";
import { findConfiguration, unwrapFile, wrapFile, type WrapReport } from "./wrap-file.ts";

const HELP = `byref ${version}

  byref mcp --config FILE      an MCP server on standard input and output, in front of the servers of FILE
  byref mcp -- COMMAND …       the same, in front of the server that this command starts
  byref mcp wrap [FILE]        puts the gateway in front of the servers in a client's configuration
  byref mcp unwrap [FILE]      restores the configuration
  byref mcp stats              what the gateway has saved
  byref eval --model MODEL     measures whether a model works better with references: byref eval --help

  --state DIR                  where variables are kept (default: the platform's folder for data)
  --http PORT                  serve HTTP at http://127.0.0.1:PORT/mcp, not standard input and output
  --allow-write DIR            save_variable may write files in this folder; may be given several times
  --workspace NAME             whose variables (default: the working folder's)
  --dry-run                    wrap, unwrap: say what would change, and change nothing
  --json                       stats: as JSON

FILE is a client's configuration: {"mcpServers": {"name": {"command": …} or {"url": …}}}. Without FILE, wrap and
unwrap look for .mcp.json, .cursor/mcp.json, .vscode/mcp.json, ~/.cursor/mcp.json and Claude's files.`;

const options = {
  config: { type: "string" },
  state: { type: "string" },
  workspace: { type: "string" },
  http: { type: "string" },
  "allow-write": { type: "string", multiple: true },
  "dry-run": { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean" },
} as const;

/** Runs the command that the program was started with. Never rejects. */
export async function runCommand(): Promise<void> {
  try {
    await run();
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = 1;
  }
}

async function run(): Promise<void> {
  const [, , first, ...rest] = process.argv;
  if (first === "eval") {
    // Only this command loads it.
    const { runEval } = await import("../eval/runner/run-eval.ts");
    const { log, error } = console;
    process.exitCode = await runEval(rest, { env: process.env, write: log, log: error });
    return;
  }
  const { args, command } = argumentsIn(process.argv.slice(2));
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const [program = "help", action = "serve", file] = positionals;
  const { config, state, workspace, "allow-write": allowWrite = [] } = values;
  const { "dry-run": dryRun = false } = values;
  if (values.version === true) return console.log(version);
  if (values.help === true || program === "help") return console.log(HELP);
  if (program !== "mcp") throw new Error(`There is no command ${program}.\n\n${HELP}`);
  switch (action) {
    case "serve":
      return runGateway({
        servers: serversOf({ config, command }),
        state,
        workspace,
        allowWrite,
        http: portIn(values.http),
      });
    case "wrap":
      return report(wrapFile(file ?? findConfiguration(), { dryRun }), dryRun);
    case "unwrap":
      return report(unwrapFile(file ?? findConfiguration(), { dryRun }), dryRun);
    case "stats": {
      const counts = openStatistics(stateFolder({ state, workspace })).read();
      return console.log(
        values.json === true ? JSON.stringify(withTokens(counts)) : tableOf(counts),
      );
    }
    default:
      throw new Error(`There is no command mcp ${action}.\n\n${HELP}`);
  }
}

/** What follows `--` is a server's command, with options of its own. */
function argumentsIn(all: readonly string[]) {
  const end = all.indexOf("--");
  if (end < 0) return { args: [...all], command: [] };
  return { args: all.slice(0, end), command: all.slice(end + 1) };
}

interface Servers {
  readonly config: string | undefined;
  readonly command: readonly string[];
}

function serversOf({
  config,
  command: [program, ...args],
}: Servers): readonly ServerConfiguration[] {
  if (config === undefined && program !== undefined) {
    return [{ name: "server", address: { command: program, args, env: {} }, rules: {} }];
  }
  if (config !== undefined && program === undefined) {
    return readConfiguration(readFileSync(config, "utf8"), process.env);
  }
  throw new Error(
    "byref mcp needs either --config FILE, the configuration of an MCP client, or -- and the command of a server.",
  );
}

function portIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d+$/u.test(text) && port <= 65_535) return port;
  throw new Error(`--http needs a port from 0 to 65535: ${text} is none.`);
}

function report({ file, servers, outcome }: WrapReport, dryRun: boolean): void {
  const would = dryRun ? "would be " : "";
  if (outcome === "unchanged") return console.log(`${file}: nothing to do.`);
  const names = servers.join(", ");
  const why = outcome === "merged" ? " It was changed since, so its own servers stay." : "";
  console.log(`${file}: ${would}${outcome} (${names}).${why}`);
}

function tableOf(counts: Counts): string {
  const lines = Object.entries(withTokens(counts)).map(([name, count]) => {
    const words = name.replaceAll(/[A-Z]/gu, (letter) => ` ${letter.toLowerCase()}`);
    return `${words.padEnd(26)}${count.toLocaleString("en").padStart(14)}`;
  });
  return lines.join("\n");
}
