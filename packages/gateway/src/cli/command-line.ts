import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { hasNodeSqlite } from "../../../adapters/src/agent/node-sql.ts";
import { ByrefError, messageOf } from "../../../../src/errors.ts";
import { readGateway } from "../configuration.ts";
import { type Counts, withTokens } from "../gateway-state.ts";
import { version } from "../../../../src/version.ts";
import { ownSecrets } from "./own-environment.ts";
import { StateFile, stateFolder } from "./state.ts";
import { linesOf, unwrapFile, wrapFile } from "./wrap-file.ts";
import { homedir } from "node:os";

const HELP = `byref ${version}

  byref mcp --config FILE      an MCP server on standard input and output, in front of the servers of FILE
  byref mcp -- COMMAND …       the same, in front of the server that this command starts
  byref mcp wrap [FILE]        puts the gateway in front of the servers in a client's configuration
  byref mcp unwrap [FILE]      restores the configuration
  byref mcp stats              what the gateway has saved
  byref bundle [FOLDER]        a Worker of createRuntime for plain workerd or the image of Byref; in the folder of
                               its wrangler.toml (default: bundle)
  byref eval --model MODEL     measures whether a model works better with references: byref eval --help

  --state DIR                  where variables are kept (default: the platform's folder for data)
  --http PORT                  serve HTTP at http://127.0.0.1:PORT/mcp, not standard input and output
  --tools search               list only what finds and calls the servers' tools (default: list)
  --allow-write DIR            save_variable may write files in this folder; may be given several times
  --workspace NAME             whose variables (default: the working folder's)
  --except NAME                wrap: leave this server as it is; may be given several times
  --project DIR                the servers that Claude Code's FILE has for this folder
  --dry-run                    wrap, unwrap: show what would change, and change nothing
  --json                       stats: as JSON

FILE is a client's configuration: {"mcpServers": {"name": {"command": …} or {"url": …}}}. Without FILE, wrap and
unwrap look for .mcp.json, .cursor/mcp.json, .vscode/mcp.json, ~/.cursor/mcp.json and Claude's files.`;

const options = {
  config: { type: "string" },
  project: { type: "string" },
  except: { type: "string", multiple: true },
  state: { type: "string" },
  workspace: { type: "string" },
  http: { type: "string" },
  "allow-write": { type: "string", multiple: true },
  tools: { type: "string" },
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
    // With the help, which is longer than a message.
    console.error(error instanceof Error ? error.message : messageOf(error));
    process.exitCode = 1;
  }
}

async function run(): Promise<void> {
  const [, , first, ...rest] = process.argv;
  if (first === "eval") {
    // Only this command loads it.
    const { runEval } = await import("../../../eval/src/run-eval.ts");
    const { log, error } = console;
    process.exitCode = await runEval(rest, { env: process.env, write: log, log: error });
    return;
  }
  const { args, command } = argumentsIn(process.argv.slice(2));
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const [program = "help", action = "serve", file] = positionals;
  if (program === "bundle") return bundle(positionals[1] ?? "bundle");
  const { config, project, state, workspace, "allow-write": allowWrite = [] } = values;
  const { "dry-run": dryRun = false, except = [] } = values;
  if (values.version === true) return console.log(version);
  if (values.help === true || program === "help") return console.log(HELP);
  if (program !== "mcp") throw new Error(`There is no command ${program}.\n\n${HELP}`);
  // A file is restored with any Node.
  if (action !== "unwrap") requireNodeSqlite();
  switch (action) {
    case "serve": {
      const { servers: all, tools: kind } = serversOf(config, project, command);
      const { tools = kind } = values;
      if (tools !== undefined && tools !== "list" && tools !== "search")
        throw new Error(`--tools is list or search, not ${tools}.`);
      const servers = all.filter(({ name }) => !except.includes(name));
      const http = portIn(values.http);
      // The other commands need none of it.
      const { runGateway } = await import("./run-gateway.ts");
      return runGateway({ servers, state, workspace, allowWrite, http, tools });
    }
    case "wrap":
    case "unwrap": {
      const change = action === "wrap" ? wrapFile : unwrapFile;
      const report = change(file ?? findConfiguration(), { dryRun, except });
      return console.log(linesOf(report, dryRun));
    }
    case "stats": {
      const counts = new StateFile(stateFolder({ state, workspace }), console.error).read();
      if (values.json === true) return console.log(JSON.stringify(withTokens(counts)));
      if (counts.calls === 0) console.error(NOTHING_COUNTED);
      return console.log(tableOf(counts));
    }
    default:
      throw new Error(`There is no command mcp ${action}.\n\n${HELP}`);
  }
}

const NOTHING_COUNTED =
  "Nothing is counted for this workspace. Run byref mcp stats in the folder in which the client starts the gateway, or with its --workspace.";

/** Throws in a Node without `node:sqlite`, in which variables and counts are kept. */
function requireNodeSqlite(): void {
  if (hasNodeSqlite()) return;
  throw new Error(
    `byref mcp needs Node 22.13 or newer; this is ${process.version}, at ${process.execPath}. Nothing was started or changed. A client starts the gateway with the Node that it finds first in its PATH.`,
  );
}

async function bundle(folder: string): Promise<void> {
  const { bundleWorker } = await import("../bundle/bundle-worker.ts");
  const { leftOut } = await bundleWorker({ project: process.cwd(), folder });
  console.log(`${folder}: a Worker for plain workerd.`);
  if (leftOut.length > 0) console.log(`Left out, because workerd has none: ${leftOut.join(", ")}.`);
}

/** Arguments after `--` are a server's command, with options of its own. */
function argumentsIn(all: readonly string[]) {
  const end = all.indexOf("--");
  if (end < 0) return { args: [...all], command: [] };
  return { args: all.slice(0, end), command: all.slice(end + 1) };
}

type Configuration = ReturnType<typeof readGateway>;

function serversOf(
  config: string | undefined,
  project: string | undefined,
  [program, ...args]: readonly string[],
): Configuration {
  if (config === undefined && program !== undefined) {
    // A client gives it the variables for the server, and those that name secrets are kept out of failures.
    const address = { command: program, args, env: ownSecrets(), inherits: true } as const;
    return { servers: [{ name: "server", address, rules: {} }], tools: undefined };
  }
  if (config !== undefined && program === undefined) return serversIn(resolve(config), project);
  throw new Error(
    "byref mcp needs either --config FILE, the configuration of an MCP client, or -- and the command of a server.",
  );
}

function serversIn(file: string, project: string | undefined): Configuration {
  try {
    return readGateway(readFileSync(file, "utf8"), process.env, project);
  } catch (error) {
    throw new Error(`--config ${file}: ${messageOf(error)}`, { cause: error });
  }
}

function portIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d+$/u.test(text) && port <= 65_535) return port;
  throw new Error(`--http needs a port from 0 to 65535, not ${text}.`);
}

function tableOf(counts: Counts): string {
  const lines = Object.entries(withTokens(counts)).map(([name, count]) => {
    const words = name.replaceAll(/[A-Z]/gu, (letter) => ` ${letter.toLowerCase()}`);
    return `${words.padEnd(26)}${count.toLocaleString("en").padStart(14)}`;
  });
  return lines.join("\n");
}

/** Returns the first configuration of a client that exists: in the working folder, then in the home folder. */
function findConfiguration(): string {
  const candidates = [
    ".mcp.json",
    join(".cursor", "mcp.json"),
    join(".vscode", "mcp.json"),
    join(homedir(), ".cursor", "mcp.json"),
    ...claudeFiles(),
  ];
  const found = candidates.find((file) => existsSync(file));
  if (found !== undefined) return resolve(found);
  const message = `No configuration was found; name a file. These were tried: ${candidates.join(", ")}.`;
  throw new ByrefError("not_found", message);
}

function claudeFiles(): readonly string[] {
  const { APPDATA = join(homedir(), ".config") } = process.env;
  const isMac = process.platform === "darwin";
  const data = isMac ? join(homedir(), "Library", "Application Support") : APPDATA;
  return [join(homedir(), ".claude.json"), join(data, "Claude", "claude_desktop_config.json")];
}
