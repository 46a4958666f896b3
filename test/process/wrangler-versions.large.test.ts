import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { options, packedProject } from "../support/packed-project.ts";
import { temporaryFolder } from "../support/server.ts";

const root = join(import.meta.dirname, "../..");
const READY_WITHIN_MS = 5 * 60_000;

/** Folders with a lockfile of their own, so that each run tests the same workerd. */
const versions = [
  { name: "oldest-wrangler", ...oldestInGuide() },
  { name: "newest-wrangler", wrangler: pinnedIn("newest-wrangler"), date: "2026-11-01" },
];

describe.each(versions)("the packed library on $name, compatibility date $date", (tested) => {
  const folder = temporaryFolder();
  const app = join(folder, "app");
  const { name, wrangler, date } = tested;
  let server: ChildProcess | undefined;
  let url = "";

  beforeAll(async () => {
    cpSync(join(import.meta.dirname, name), join(folder, "tools"), { recursive: true });
    // With the environment of this process, which may name a registry.
    execFileSync("npm", ["ci"], { cwd: join(folder, "tools"), stdio: "pipe" });
    await packedProject(folder);
    const path = join(app, "wrangler.toml");
    const config = readFileSync(path, "utf8");
    writeFileSync(
      path,
      config.replace(/^compatibility_date = .*$/m, `compatibility_date = "${date}"`),
    );
    const program = join(folder, "tools/node_modules/wrangler/bin/wrangler.js");
    const settings = ["--var", "AUTH:none", "--var", "MODEL:demo"];
    const parameters = [
      "dev",
      "--ip=127.0.0.1",
      "--local",
      "--port=0",
      `--persist-to=${folder}/state`,
    ];
    server = spawn("node", [program, ...parameters, ...settings], {
      ...options(app),
      // wrangler leads a process group, which includes its workerd.
      detached: true,
    });
    url = await readyUrl(server);
  });

  afterAll(() => {
    if (server?.pid !== undefined) process.kill(-server.pid, "SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });

  it("runs the version in the lockfile", () => {
    const { version } = JSON.parse(
      readFileSync(join(folder, "tools/node_modules/wrangler/package.json"), "utf8"),
    ) as { version: string };
    expect(version).toBe(wrangler);
  });

  it("starts, and answers with a tool's result by reference", async () => {
    const response = await fetch(`${url}/conversations/first/messages`, {
      method: "POST",
      headers: { accept: "text/plain", "content-type": "application/json" },
      body: JSON.stringify({ message: "How many tickets are open?" }),
    });
    expect(await response.text()).toContain("167 of 500 records");
    const listed = await fetch(`${url}/conversations`);
    expect(await listed.json()).toMatchObject({ conversations: [{ id: "first" }] });
  });
});

function pinnedIn(name: string): string {
  const path = join(import.meta.dirname, name, "package.json");
  const { dependencies } = JSON.parse(readFileSync(path, "utf8")) as {
    readonly dependencies: { readonly wrangler: string };
  };
  return dependencies.wrangler;
}

/** Returns the versions in the quickstart: `wrangler 1.2.3`, and a date after `compatibility_date`. */
function oldestInGuide(): { readonly wrangler: string; readonly date: string } {
  const guide = readFileSync(join(root, "docs/guides/quickstart.md"), "utf8");
  const named =
    /wrangler (\d+\.\d+\.\d+) or newer, and a `compatibility_date` of (\d{4}-\d\d-\d\d)/;
  const [, wrangler, date] = named.exec(guide) ?? [];
  if (wrangler === undefined || date === undefined)
    throw new Error("The quickstart names no versions.");
  return { wrangler, date };
}

/** Rejects with the output of wrangler if it does not become ready. */
function readyUrl({ stdout, stderr }: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const timer = setTimeout(() => reject(new Error(said)), READY_WITHIN_MS);
    const listen = (chunk: Buffer) => {
      said += chunk.toString();
      const url = /Ready on (http:\S+)/.exec(said)?.[1];
      const isOver = url !== undefined || said.includes("failed to start");
      if (!isOver) return;
      clearTimeout(timer);
      if (url === undefined) reject(new Error(said));
      else resolve(url);
    };
    stdout?.on("data", listen);
    stderr?.on("data", listen);
  });
}
