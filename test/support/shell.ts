import { spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./server.ts";

interface ShellOptions {
  /** Its first variables. */
  readonly variables: Readonly<Record<string, string>>;
  /** Addresses in commands, without `http://`, and the URLs that take their place. */
  readonly addresses: Readonly<Record<string, string>>;
  /** Functions that its commands may call. */
  readonly functions?: string;
}

/** A shell for one document: its variables and files are kept for the next command. */
export class Shell {
  readonly folder = temporaryFolder();
  readonly #state = join(this.folder, ".state");
  readonly #addresses: readonly (readonly [address: string, url: string])[];
  readonly #functions: string;

  constructor({ variables, addresses, functions = "" }: ShellOptions) {
    this.#addresses = Object.entries(addresses);
    this.#functions = this.#there(functions);
    const lines = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`);
    writeFileSync(this.#state, lines.join(""));
    // HTTP errors fail the command, and their bodies are printed.
    writeFileSync(join(this.folder, ".curlrc"), "silent\nfail-with-body\nmax-time = 20\n");
  }

  async run(command: string): Promise<{ readonly code: number | null; readonly output: string }> {
    const steps = [`. ${this.#state}`, this.#functions, this.#there(command)];
    const script = ["set -au", ...steps, "code=$?", `export -p > ${this.#state}`, "exit $code"];
    const { PATH = "" } = process.env;
    const child = spawn("bash", ["-c", script.join("\n")], {
      cwd: this.folder,
      env: { PATH, HOME: this.folder, LC_ALL: "C.UTF-8" },
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    let problem = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (problem += text));
    const code = await new Promise<number | null>((done) => child.once("close", done));
    return { code, output: output === "" ? problem : output };
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #there(text: string): string {
    return this.#addresses.reduce(
      (there, [address, url]) =>
        there.replaceAll(`http://${address}`, address).replaceAll(address, url),
      text,
    );
  }
}
