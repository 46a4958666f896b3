import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { expect, it } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { freePort } from "../../scripts/free-port.ts";
import { startPlain, stop } from "../support/plain-server.ts";
import { temporaryFolder } from "../support/server.ts";

const root = join(import.meta.dirname, "../..");

/** Returns a copy of the image's build context: the files that are not ignored, and the packages. */
function buildContext(): string {
  const folder = temporaryFolder();
  const ignored = readFileSync(join(root, ".dockerignore"), "utf8").split("\n");
  for (const name of readdirSync(root)) {
    const isLeftOut = ignored.some((pattern) => matchesGlob(name, pattern));
    if (!isLeftOut) cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

it("the image runs what its build commands produced, from any folder, and answers", async () => {
  const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
  const [, bundling = ""] = /^RUN node (.*) \/app$/m.exec(dockerfile) ?? [];
  const [, started = ""] = /^CMD \["node", "\/app\/(.*)"\]$/m.exec(dockerfile) ?? [];
  const context = buildContext();
  const image = temporaryFolder();
  try {
    execFileSync(process.execPath, [bundling, image], { cwd: context });
    // The image contains no sources and no packages.
    rmSync(context, { recursive: true });
    const env = { PORT: String(await freePort()), STATE_DIR: join(image, "state") };
    const server = startPlain({ ...env, AUTH: "none" }, [join(image, started)]);
    try {
      const url = await server.url;
      expect(server.output()).toMatch(/^ready /m);
      const turn = createClient(url ?? "")
        .conversation("c")
        .send("What's the weather in NYC?");
      expect(await turn.text()).toContain("New York");
      expect(await (await fetch(`${url}/`)).text()).toContain('<div id="page">');
      const health = /^HEALTHCHECK CMD (.*)$/m.exec(dockerfile)?.[1] ?? "[]";
      const [, ...check] = JSON.parse(health) as string[];
      const asked = () => execFileSync(process.execPath, check, { env, stdio: "pipe" });
      expect(asked).not.toThrow();
      expect(await stop(server)).toBe(0);
      expect(asked).toThrow(/Command failed/);
    } finally {
      await stop(server);
    }
  } finally {
    rmSync(context, { recursive: true, force: true });
    rmSync(image, { recursive: true, force: true });
  }
});
