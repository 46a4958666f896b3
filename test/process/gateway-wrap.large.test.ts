import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CLIENT_CONFIGURATIONS } from "../support/client-configurations.ts";
import { byref } from "../support/command-line.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "byref-wrap-kills-")));
const read = (file: string) => readFileSync(file, "utf8");

function written(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

/** Kills the program at its n-th write. */
const KILLING = `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
let left = Number(process.env.WRITES);
for (const name of ["openSync", "writeSync", "chmodSync", "fsyncSync", "renameSync", "rmSync"]) {
  const original = fs[name];
  fs[name] = (...args) => {
    if (name === "openSync" && args[1] !== "wx") return original(...args);
    if (left-- === 0) process.kill(process.pid, "SIGKILL");
    return original(...args);
  };
}
syncBuiltinESMExports();
`;

it("a kill at any write of wrap or unwrap loses nothing, and the command can be repeated", () => {
  const original = CLIENT_CONFIGURATIONS[".vscode/mcp.json"];
  const file = written("mcp.json", original);
  const preload = written("killing.mjs", KILLING);
  const kill = (action: string, writes: number) =>
    byref(["mcp", action, file], { folder, preload, env: { WRITES: String(writes) } }).status;
  let kills = 0;
  for (; kill("wrap", kills) === null; kills++) {
    // The client can start either the servers, or the gateway with all of them.
    const isWrapped = read(file) !== original;
    expect(read(isWrapped ? `${file}.byref.json` : file)).toBe(original);
  }
  const wrapped = read(file);
  let unwraps = 0;
  for (; kill("unwrap", unwraps) === null; unwraps++) {
    const isRestored = read(file) === original;
    if (!isRestored) expect([read(file), read(`${file}.byref.json`)]).toEqual([wrapped, original]);
    byref(["mcp", "wrap", file], { folder });
    expect(read(file)).toBe(wrapped);
  }
  expect(read(file)).toBe(original);
  expect(kills).toBeGreaterThan(8);
  expect(unwraps).toBeGreaterThan(5);
  rmSync(preload);
  expect(readdirSync(folder).filter((name) => !name.endsWith(".tmp"))).toEqual(["mcp.json"]);
});
