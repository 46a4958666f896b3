import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  commandsIn,
  type DocumentedCommand,
  documents,
  isAsShown,
  isOfThisMonth,
} from "../support/documented-commands.ts";
import { type Server, startServer } from "../support/server.ts";
import { Shell } from "../support/shell.ts";

const root = join(import.meta.dirname, "../..");

/** The test or script that runs a command, or the reason why it cannot run here. */
type Elsewhere = { readonly by: string } | { readonly because: string };

const APPROVALS = { by: "test/edge-node/turns/approvals.test.ts" };
const BUNDLE = { by: "packages/gateway/test/bundle/bundle-worker.large.test.ts" };
const IMAGE = { by: "test/process/image.large.test.ts" };
const MODELS = { by: "test/process/models.large.test.ts" };
const PROJECT = { by: "test/templates/create-byref.test.ts" };
const ACCOUNT = { because: "it needs an account" };
const CLAUDE = { because: "it needs Claude Code" };
const UPGRADES = { because: "it upgrades another project" };

/** Commands that do not run against the started server. */
const elsewhere: Readonly<Record<string, Elsewhere>> = {
  "npm ci && npm start": { by: "test/process/start.test.ts" },
  "npm ci && npm test": { by: ".ci/run" },
  "MODEL=openai-compatible:my-model MODEL_BASE_URL=http://localhost:11434/v1 npm start": MODELS,
  "MODEL=anthropic:<model> MODEL_API_KEY=… npm start": MODELS,
  "npm ci && npm run package -- ../packed": PROJECT,
  "cd .. && npx -y -p ./packed/create-byref-*.tgz create-byref my-agent --template chat --byref ./packed/byref-*.tgz":
    PROJECT,
  "cd my-agent && npm run dev": PROJECT,
  "npm test": PROJECT,
  "npm run deploy": PROJECT,
  "npx wrangler secret put API_KEYS": ACCOUNT,
  "npm run eval -- --model scripted:sloppy --quick": { by: "test/process/eval.test.ts" },
  "MODEL_BASE_URL=https://… MODEL_API_KEY=… npm run eval -- --model openai-compatible:NAME --price IN,CACHED,OUT --quick --budget 10":
    { because: "it needs a key" },
  "npm run eval -- --model openai-compatible:NAME --price IN,CACHED,OUT --set nestful=../nestful/data_v2 --only-sets --budget 5":
    { because: "it needs a key and the set" },
  "claude mcp add files -- npx -y byref mcp -- npx -y @modelcontextprotocol/server-filesystem .":
    CLAUDE,
  "claude mcp add byref -- npx -y byref mcp --config ~/.byref/servers.json": CLAUDE,
  "npm ci && npm run package -- ../packed && npm install -g ../packed/byref-*.tgz": {
    because: "it installs a program for the user",
  },
  "npm uninstall ai agents @cloudflare/ai-chat workers-ai-provider": UPGRADES,
  "npm install byref ai@7 agents@0 @cloudflare/ai-chat@0 workers-ai-provider@4 @ai-sdk/react@4":
    UPGRADES,
  "npx wrangler login": { because: "it opens a browser on an account" },
  "npx wrangler r2 bucket create byref-blobs": ACCOUNT,
  "npm run deploy -- --secrets-file ../byref.json": ACCOUNT,
  // The demo's agents have no tool that needs approval.
  "curl $URL/conversations/first/approvals/$APPROVAL --json '{\"approved\": true}'": APPROVALS,
  'curl $URL/conversations/first/approvals/$APPROVAL --json \'{"approved": false, "reason": "Too much."}\'':
    APPROVALS,
  'MCP_SERVERS=\'[{"name": "shop", "url": "https://shop.example/mcp"}]\' npm start': {
    by: "test/edge-node/guides/mcp.test.ts",
  },
  // Tested without Docker, by the same steps as in the Dockerfile.
  "docker build -t byref .": IMAGE,
  'docker run --restart=unless-stopped -p 8787:8787 -v byref:/state -e AUTH=bearer -e API_KEYS=\'{"<key>": "me"}\' byref':
    IMAGE,
  "npx byref bundle": BUNDLE,
  'docker run -p 8787:8787 -v byref:/state -v ./bundle:/worker:ro -e API_KEYS=\'{"<key>": "me"}\' byref':
    BUNDLE,
};

/** Other commands run unchanged if they begin with one of these. */
const typed = /^(?:[A-Z]+=\$\()?(?:curl|head|printf|seq|split) /;

/** Ubuntu's curl of 2022 lacks `--json`, and some images have no curl or no bash. */
const hasCurl = spawnSync("bash", ["-c", "curl --json '{}' --version"]).status === 0;

/** Deletes all conversations, so that each document begins with an empty server. */
async function forgetAll(url: string, commands: readonly DocumentedCommand[]): Promise<void> {
  const named = commands.flatMap(({ command }) =>
    Array.from(command.matchAll(/conversations\/([\w.-]+)/g), ([, id = ""]) => id),
  );
  const response = await fetch(`${url}/conversations`);
  const { conversations } = (await response.json()) as { conversations: { id: string }[] };
  const ids = new Set([...named, ...conversations.map(({ id }) => id)]);
  await Promise.all(
    Array.from(ids, (id) => fetch(`${url}/conversations/${id}`, { method: "DELETE" })),
  );
}

/** Returns the faults of the command, or of the output that the document shows. */
async function problemOf(shell: Shell, { at, command, shown }: DocumentedCommand) {
  if (!typed.test(command)) return [`${at}: nobody runs ${command}`];
  const { code, output } = await shell.run(command);
  const said = `${at}: ${command}\nends with ${code}:\n${output.slice(0, 2_000)}`;
  if (shown === undefined) return code === 0 ? [] : [said];
  if (isOfThisMonth(shown)) return [`${at}: what is shown is so in some months only`];
  return isAsShown(shown, output) ? [] : [`${said}\nbut is shown as:\n${shown}`];
}

describe.skipIf(!hasCurl)("documented commands work:", () => {
  let server: Server;

  beforeAll(async () => void (server = await startServer()));

  afterAll(() => server?.stop());

  // test/process/documented-runbook.large.test.ts follows the runbook.
  it.each(documents().filter((path) => path !== "docs/guides/runbook.md"))("%s", async (path) => {
    const commands = commandsIn(path).filter(({ command }) => elsewhere[command] === undefined);
    await forgetAll(server.url, commands);
    const shell = new Shell({
      variables: { URL: server.url },
      addresses: { "localhost:8787": server.url },
    });
    const problems: string[] = [];
    for (const command of commands) problems.push(...(await problemOf(shell, command)));
    shell.close();
    expect(problems).toEqual([]);
  });
});

it("every command that is tested elsewhere is documented, and its test file exists", () => {
  const documented = documents().flatMap(commandsIn);
  const names = new Set(documented.map(({ command }) => command));
  expect(Object.keys(elsewhere).filter((command) => !names.has(command))).toEqual([]);
  const files = Object.values(elsewhere).flatMap((how) => ("by" in how ? [how.by] : []));
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
