import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { slow } from "../support/slow.ts";

const script = join(import.meta.dirname, "../../scripts/install-byref.ts");

describe("byref in an example's folder", () => {
  let folder: string;
  const run = (...parameters: readonly string[]) =>
    execFileSync(process.execPath, parameters, { cwd: folder, encoding: "utf8", stdio: "pipe" });
  const installed = (name: string, version: string) => {
    mkdirSync(join(folder, "node_modules", name), { recursive: true });
    const text = JSON.stringify({ name, version, main: "main.js" });
    writeFileSync(join(folder, "node_modules", name, "package.json"), text);
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "byref-example-"));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("can be imported in Node by its name", slow, () => {
    run(script);
    const program = `
      import { expandText } from "byref/references";
      console.log(import.meta.resolve("byref/references"), typeof expandText);`;
    const said = run("--input-type=module", "--eval", program);
    expect(said).toContain("/node_modules/byref/src/references.js");
    expect(said).toContain(" function");
  });

  it("replaces an earlier one as a whole", slow, () => {
    installed("byref", "0.0.1");
    writeFileSync(join(folder, "node_modules/byref/old.js"), "");
    run(script);
    expect(readdirSync(join(folder, "node_modules"))).toEqual(["byref"]);
    expect(readdirSync(join(folder, "node_modules/byref")).toSorted()).toEqual([
      "package.json",
      "packages",
      "src",
    ]);
  });
});
