import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packCreatePackage, packedTarball } from "../../scripts/pack.ts";

const root = join(import.meta.dirname, "../..");
const READY_WITHIN_MS = 5 * 60_000;

/** A running `npm run dev`. */
type Running = { readonly url: string; readonly output: () => string; readonly stop: () => void };

/**
 * A new user's machine: an empty home and temporary folder, this repository's Node without its other
 * programs, and npm's registry, certificates and cache from here. Installs the packages as they would be
 * published.
 */
export class NewMachine {
  readonly folder = mkdtempSync(join(tmpdir(), "new-"));
  readonly env: NodeJS.ProcessEnv = {
    ...ofThisMachine(),
    PATH: `${join(root, "node_modules/node/bin")}:${process.env["PATH"]}`,
    HOME: join(this.folder, "home"),
    TMPDIR: join(this.folder, "tmp"),
    npm_config_prefer_offline: "true",
    npm_config_update_notifier: "false",
    // Allows no network access beyond the registry.
    WRANGLER_SEND_METRICS: "false",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
  };
  /** Paths of the tarballs. */
  byref = "";
  create = "";

  async pack(): Promise<void> {
    for (const name of ["home", "tmp", "packed"]) mkdirSync(join(this.folder, name));
    this.byref = await packedTarball();
    this.create = await packCreatePackage(join(this.folder, "packed"));
  }

  /** Runs `npm create byref NAME -- --template TEMPLATE` from the tarballs. Returns the output. */
  createProject(template: string, name = template, ...more: readonly string[]): string {
    const program = ["exec", "--yes", `--package=${this.create}`, "--", "create-byref", name];
    const flags = ["--template", template, "--model", "demo", "--byref", this.byref];
    return this.run(".", "npm", ...program, ...flags, ...more);
  }

  /** Runs a program in a folder of this machine and returns its output. Throws if it fails. */
  run(project: string, program: string, ...parameters: readonly string[]): string {
    const cwd = join(this.folder, project);
    const { status, stdout, stderr } = spawnSync(program, parameters, {
      cwd,
      env: this.env,
      encoding: "utf8",
    });
    const said = `${stdout}${stderr}`;
    if (status === 0) return said;
    throw new Error(`${program} ${parameters.join(" ")} ended with ${status}:\n${said}`);
  }

  /** Starts `npm run dev` on a free port. Resolves when it reports that it is ready. */
  start(project: string): Promise<Running> {
    const cwd = join(this.folder, project);
    // npm leads a process group that includes wrangler and workerd.
    const options = { cwd, env: this.env, detached: true } as const;
    const child = spawn("npm", ["run", "dev", "--", "--port=0"], options);
    const stop = () => {
      const isOver = child.exitCode !== null || child.signalCode !== null;
      if (child.pid !== undefined && !isOver) process.kill(-child.pid, "SIGKILL");
    };
    let output = "";
    const { promise, resolve, reject } = Promise.withResolvers<Running>();
    const fail = () => reject(new Error(`npm run dev is not ready:\n${output}`));
    const timer = setTimeout(() => {
      stop();
      fail();
    }, READY_WITHIN_MS);
    child.once("exit", fail);
    const listen = (chunk: Buffer) => {
      output += chunk.toString();
      const url = /Ready on (http:\S+)/.exec(output)?.[1];
      if (url !== undefined) resolve({ url, output: () => output, stop });
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    return promise.finally(() => clearTimeout(timer));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Returns the lines that contain a warning of npm, tsc, wrangler or Vitest. */
export function warningsIn(said: string): readonly string[] {
  return said.split("\n").filter((line) => /\bwarn(?:ing)?s?\b|\bdeprecated\b/i.test(line));
}

/** Sends a question to a template's Worker, without a key. */
export async function askFirst(url: string, question: string) {
  const response = await fetch(`${url}/conversations/first/messages`, {
    method: "POST",
    headers: { accept: "application/json", "content-type": "application/json" },
    body: JSON.stringify({ message: question }),
  });
  const { message, variables } = (await response.json()) as {
    readonly message: { readonly parts: readonly { readonly text?: string }[] };
    readonly variables: readonly { readonly name: string }[];
  };
  const text = message.parts.map((part) => part.text ?? "").join("");
  return { text, variables: variables.map(({ name }) => name) };
}

/** Environment that lets npm reach its registry. Projects do not see any other setting of this process. */
function ofThisMachine(): NodeJS.ProcessEnv {
  const isProxy = (name: string) => /^(?:https?_proxy|no_proxy|node_extra_ca_certs)$/i.test(name);
  const own = Object.entries(process.env).filter(([name]) => isProxy(name));
  const settings = ["cache", "registry", "cafile"].map((name) => {
    const { stdout } = spawnSync("npm", ["config", "get", name], { cwd: root, encoding: "utf8" });
    return [`npm_config_${name}`, stdout.trim()] as const;
  });
  return Object.fromEntries([...own, ...settings.filter(([, value]) => value !== "null")]);
}
