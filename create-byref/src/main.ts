#!/usr/bin/env node
/** `npm create byref`: asks for options that are not given as flags, writes the project and installs its packages. */
import { spawnSync } from "node:child_process";
import { basename, join } from "node:path";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { ChoiceError } from "./choice-error.ts";
import { createProject, type Project, templateNames } from "./create-project.ts";

const HELP = `npm create byref [FOLDER] -- [--template NAME] [--model MODEL] [--model-base-url URL]
                              [--byref VERSION-OR-TARBALL] [--no-install]

Templates:
  chat           a Worker with an agent, two tools, the chat page and a test
  worker-only    the same without the page, for your own front end
  ai-chat-agent  AIChatAgent of the Agents SDK, with variables
  mcp-gateway    a Worker that is an MCP server in front of other MCP servers
  node           an agent of the AI SDK in Node

Models: demo (default: no key, no network), workers-ai:<model>, openai:<model>,
anthropic:<model>, openai-compatible:<model> with --model-base-url.`;

/** The oldest version that wrangler and vitest support, and that runs TypeScript without a flag. */
const OLDEST_NODE = [22, 18] as const;
/** Installed in the project if the computer's own Node is older. */
const NODE_PACKAGE = "node@24.21.0";

const templates = join(import.meta.dirname, "../templates");

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof ChoiceError || isArgumentError(error) || isSystemError(error)))
    throw error;
  console.error(error.message);
  process.exitCode = 2;
}

async function main(words: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      template: { type: "string" },
      model: { type: "string" },
      "model-base-url": { type: "string" },
      byref: { type: "string" },
      "no-install": { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  if (positionals.length > 1) throw new ChoiceError(`One folder, not ${positionals.join(", ")}.`);
  const { byref, "model-base-url": modelBaseUrl } = values;
  const chosen = { folder: positionals[0], template: values.template, model: values.model };
  const project = { ...(await completed(chosen)), byref, modelBaseUrl };
  createProject(project, templates);
  const isInstalled = values["no-install"] !== true && install(project.folder);
  console.log(nextSteps(project, isInstalled));
  return 0;
}

interface Chosen {
  readonly folder: string | undefined;
  readonly template: string | undefined;
  readonly model: string | undefined;
}

/** Asks for missing choices in a terminal. Without a terminal, uses the defaults. */
async function completed({ folder, template, model }: Chosen) {
  const isComplete = folder !== undefined && template !== undefined && model !== undefined;
  const terminal =
    isComplete || process.stdin.isTTY !== true
      ? undefined
      : createInterface({ input: process.stdin, output: process.stdout });
  const ask = async (question: string, usual: string) =>
    ((await terminal?.question(`${question} (${usual}) `)) ?? "").trim() || usual;
  try {
    return {
      folder: folder ?? (await ask("Folder", "my-agent")),
      template: template ?? (await ask(`Template: ${templateNames(templates).join(", ")}`, "chat")),
      model: model ?? (await ask("Model: demo, or provider:model", "demo")),
    };
  } finally {
    terminal?.close();
  }
}

/** Returns false if npm failed. npm has printed the reason. */
function install(folder: string): boolean {
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  const parameters = isOldNode()
    ? ["install", "--save-dev", "--save-exact", NODE_PACKAGE, ...quiet]
    : ["ci", ...quiet];
  const isWindows = process.platform === "win32";
  const { status } = spawnSync(isWindows ? "npm.cmd" : "npm", parameters, {
    cwd: folder,
    stdio: "inherit",
    shell: isWindows,
  });
  return status === 0;
}

function isOldNode(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const [oldest, oldestMinor] = OLDEST_NODE;
  return major < oldest || (major === oldest && minor < oldestMinor);
}

function nextSteps({ folder, template, model }: Project, isInstalled: boolean): string {
  const start = template === "node" ? "npm start" : "npm run dev";
  const path = /[^\w@%+=:,./\\-]/.test(folder) ? `"${folder}"` : folder;
  const steps = [`cd ${path}`, ...(isInstalled ? [] : ["npm install"]), start];
  const needsKey = /^(?:openai|anthropic):/.test(model);
  const file = template === "node" ? ".env" : ".dev.vars";
  return [
    `Created ${basename(folder)}. Next:`,
    "",
    ...steps.map((step) => `  ${step}`),
    ...(needsKey ? ["", `Write your key behind MODEL_API_KEY= in ${file} first.`] : []),
  ].join("\n");
}

/** A folder that cannot be written, or a file in its place: the error names the path. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}

/** Node's own errors for unknown and incomplete flags name the flag. */
function isArgumentError(error: unknown): error is Error {
  return (
    error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS")
  );
}
