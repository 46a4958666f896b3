import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packCreatePackage } from "../../scripts/create-package.ts";
import { packInto } from "../support/packed-project.ts";

const root = join(import.meta.dirname, "../..");
const READY_WITHIN_MS = 60_000;
const MINUTES_MS = 5 * 60_000;

/** A new machine: an empty home and temporary folder, this repository's Node, and npm's cache, so that it is warm. */
const folder = mkdtempSync(join(tmpdir(), "new-"));
const env = {
  PATH: `${join(root, "node_modules/.bin")}:${process.env["PATH"]}`,
  HOME: join(folder, "home"),
  TMPDIR: join(folder, "tmp"),
  npm_config_cache: process.env["npm_config_cache"] ?? join(homedir(), ".npm"),
  npm_config_update_notifier: "false",
  // No network beyond the registry.
  WRANGLER_SEND_METRICS: "false",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
};

const projects = [
  { template: "chat", isWorker: true, hasPage: true },
  { template: "worker-only", isWorker: true, hasPage: false },
  { template: "mcp-gateway", isWorker: true, hasPage: true },
  { template: "ai-chat-agent", isWorker: false },
  { template: "node", isWorker: false },
] as const;

/** Returns what the program printed. Fails if it fails, or prints a warning. */
function run(cwd: string, program: string, ...parameters: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, parameters, { cwd, env, encoding: "utf8" });
  const said = `${stdout}${stderr}`;
  expect(status, `${program} ${parameters.join(" ")}\n${said}`).toBe(0);
  expect(said.split("\n").filter((line) => /\bwarn(?:ing)?\b/i.test(line))).toEqual([]);
  return said;
}

let byref = "";
let create = "";

beforeAll(async () => {
  for (const name of ["home", "tmp", "packed"]) mkdirSync(join(folder, name));
  byref = packInto(join(folder, "packed"));
  create = await packCreatePackage(join(folder, "packed"));
}, MINUTES_MS);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(projects)("npm create byref -- --template $template", (project) => {
  const { template, isWorker } = project;
  const app = join(folder, template);

  it(
    "installs, has types, passes its test, and can be deployed",
    () => {
      const flags = ["--template", template, "--model", "demo", "--byref", byref];
      run(
        folder,
        "npm",
        "exec",
        "--yes",
        `--package=${create}`,
        "--",
        "create-byref",
        template,
        ...flags,
      );
      expect(existsSync(join(app, "node_modules/byref/dist"))).toBe(true);
      run(app, "npm", "run", "types");
      expect(run(app, "npm", "test")).toMatch(/Tests .*1 passed/);
      if (template === "node") return;
      const deployed = run(app, "npm", "run", "deploy", "--", "--dry-run");
      expect(deployed).toMatch(/Total Upload: .* gzip: /);
    },
    MINUTES_MS,
  );

  it.runIf(isWorker)(
    "answers a first question by reference, without a warning",
    async () => {
      const server = await started(app);
      try {
        const response = await fetch(`${server.url}/conversations/first/messages`, {
          method: "POST",
          headers: { accept: "application/json", "content-type": "application/json" },
          body: JSON.stringify({ message: "How many tickets are open?" }),
        });
        const { message, variables } = (await response.json()) as {
          message: { parts: readonly { type: string; text?: string }[] };
          variables: readonly { name: string }[];
        };
        expect(message.parts.map(({ text = "" }) => text).join("")).toContain("167");
        expect(variables.map(({ name }) => name)).toContain("list_tickets_1");
        if ("hasPage" in project && project.hasPage) {
          expect(await (await fetch(`${server.url}/`)).text()).toContain('<div id="page">');
        }
        expect(
          server
            .output()
            .split("\n")
            .filter((line) => /warn/i.test(line)),
        ).toEqual([]);
      } finally {
        server.stop();
      }
    },
    MINUTES_MS,
  );
});

describe("the other templates", () => {
  it(
    "ai-chat-agent answers its own client, and node prints an answer",
    async () => {
      const server = await started(join(folder, "ai-chat-agent"), "--port=8787");
      try {
        const asked = run(
          join(folder, "ai-chat-agent"),
          "npm",
          "run",
          "ask",
          "--",
          "List the tickets.",
        );
        expect(asked).toContain("T-1001");
      } finally {
        server.stop();
      }
      expect(run(join(folder, "node"), "npm", "start")).toMatch(/list_tickets\(\{\}\)[^]*167/);
    },
    MINUTES_MS,
  );
});

interface Running {
  readonly url: string;
  readonly output: () => string;
  readonly stop: () => void;
}

function started(app: string, ...flags: readonly string[]): Promise<Running> {
  const parameters = ["run", "dev", "--", ...(flags.length > 0 ? flags : ["--port=0"])];
  // npm leads a process group, which contains wrangler and workerd.
  const child: ChildProcess = spawn("npm", parameters, { cwd: app, env, detached: true });
  const stop = () => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  };
  let output = "";
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      stop();
      reject(new Error(output));
    }, READY_WITHIN_MS);
    const listen = (chunk: Buffer) => {
      output += chunk.toString();
      const url = /Ready on (http:\S+)/.exec(output)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve({ url, output: () => output, stop });
    };
    child.stdout?.on("data", listen);
    child.stderr?.on("data", listen);
  });
}
