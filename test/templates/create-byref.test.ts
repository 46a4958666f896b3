import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { askFirst, NewMachine, warningsIn } from "../support/new-machine.ts";
import { startPlain, stop } from "../support/plain-server.ts";

const root = join(import.meta.dirname, "../..");

const projects = [
  { template: "chat", isWorker: true, hasPage: true },
  { template: "worker-only", isWorker: true, hasPage: false },
  { template: "mcp-gateway", isWorker: true, hasPage: true },
  { template: "ai-chat-agent", isWorker: false, hasPage: false },
  { template: "node", isWorker: false, hasPage: false },
] as const;

const machine = new NewMachine();
beforeAll(() => machine.pack());
afterAll(() => machine.remove());

/** Returns what the program printed. Fails if it fails, or warns. */
function run(...command: Parameters<NewMachine["run"]>): string {
  const said = machine.run(...command);
  expect(warningsIn(said)).toEqual([]);
  return said;
}

/** Creates a project. One that has the packages of `chat` gets them from there. */
function create(template: string): string {
  if (template === "chat" || !isDeepStrictEqual(packagesOf(template), packagesOf("chat")))
    return machine.createProject(template);
  const said = machine.createProject(template, template, "--no-install");
  machine.run(".", "cp", "-al", "chat/node_modules", `${template}/node_modules`);
  return said;
}

function packagesOf(template: string): object {
  const lock = join(root, "create-byref/templates", template, "package-lock.json");
  const { packages } = JSON.parse(readFileSync(lock, "utf8")) as { readonly packages: object };
  return { ...packages, "": undefined };
}

describe.each(projects)("npm create byref -- --template $template", (project) => {
  const { template, isWorker } = project;

  it("installs, has types, passes its test, and can be deployed", () => {
    expect(warningsIn(create(template))).toEqual([]);
    const installed = join(machine.folder, template, "node_modules/byref/dist");
    expect(existsSync(installed)).toBe(true);
    run(template, "npm", "run", "types");
    expect(run(template, "npm", "test")).toMatch(/Tests .*\d passed/);
    if (template === "node") return;
    const deployed = run(template, "npm", "run", "deploy", "--", "--dry-run");
    expect(deployed).toMatch(/Total Upload: .* gzip: /);
  });

  it.runIf(isWorker)("answers a first question by reference, without a warning", async () => {
    const server = await machine.start(template);
    try {
      const answer = await askFirst(server.url, "How many tickets are open?");
      expect(answer.text).toBe("167 of 500 records of list_tickets_1 have status open.");
      expect(answer.variables).toContain("list_tickets_1");
      const page = await (await fetch(`${server.url}/`)).text();
      expect(page.includes('<div id="page">')).toBe(project.hasPage);
      expect(warningsIn(server.output())).toEqual([]);
    } finally {
      server.stop();
    }
  });
});

it("a bundle of chat runs in the image, on plain workerd", async () => {
  expect(run("chat", "npx", "byref", "bundle")).toContain(
    "Left out, because workerd has none: ai.",
  );
  const image = join(machine.folder, "image");
  execFileSync(process.execPath, [join(root, "scripts/workerd-bundle.ts"), image], { cwd: root });
  const server = startPlain(
    {
      PORT: String(await freePort()),
      STATE_DIR: join(machine.folder, "state"),
      WORKER_DIR: join(machine.folder, "chat/bundle"),
      AUTH: "none",
    },
    [join(image, "start.mjs")],
  );
  try {
    const url = (await server.url) ?? server.output();
    expect((await askFirst(url, "How many tickets are open?")).text).toContain("167");
    expect(await (await fetch(`${url}/agents`)).text()).toContain('"title":"Help desk"');
    expect(await (await fetch(`${url}/`)).text()).toContain('<div id="page">');
  } finally {
    await stop(server);
  }
});

it("the template ai-chat-agent answers its own client", async () => {
  const server = await machine.start("ai-chat-agent");
  try {
    const ask = ["run", "ask", "--", "List the tickets.", server.url];
    expect(run("ai-chat-agent", "npm", ...ask)).toContain("T-1001");
    expect(warningsIn(server.output())).toEqual([]);
  } finally {
    server.stop();
  }
});

it("the template node prints an answer", () => {
  expect(run("node", "npm", "start")).toMatch(/list_tickets\(\{\}\)[^]*167/);
});
