import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const program = join(root, "packages/gateway/src/cli/main.ts");

it("byref eval measures a scripted model without a key, and draws the table and the chart", () => {
  const cwd = mkdtempSync(join(tmpdir(), "byref-eval-process-"));
  try {
    const args = [program, "eval", "--model", "scripted:sloppy", "--quick"];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
    expect(status, stderr).toBe(0);
    expect(stderr).toContain("of 150 cells");
    expect(stdout).toContain("|  | value | cap | offload | reference | sql |");
    expect(stdout).toContain("says nothing about any real model");
    const guide = readFileSync(join(root, "docs/guides/evaluation.md"), "utf8");
    for (const row of ["right", "bytes intact", "model calls"]) {
      const line = stdout.split("\n").find((other) => other.startsWith(`| ${row} | `));
      expect(guide).toContain(line ?? row);
    }
    const folder = join(cwd, "eval-results", "scripted-sloppy");
    expect(readFileSync(join(folder, "right.svg"), "utf8")).toContain("<svg ");
    for (const name of ["results.json", "results.md"]) {
      expect(existsSync(join(folder, name))).toBe(true);
    }
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
});
