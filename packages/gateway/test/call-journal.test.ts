import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { StateFile } from "../src/cli/state.ts";
import { runWithJournal, runsOnce } from "../src/gateway-state.ts";

const MODULE = new URL("../src/cli/state.ts", import.meta.url).href;

/** Opens a journal in which another process began the call `key` and was killed. */
function journalAfterCrash(key: string): StateFile {
  const folder = mkdtempSync(join(tmpdir(), "journal-"));
  const program = `
    const { StateFile } = await import(${JSON.stringify(MODULE)});
    new StateFile(${JSON.stringify(folder)}, () => undefined).begin(${JSON.stringify(key)});
    process.kill(process.pid, "SIGKILL");`;
  try {
    execFileSync(process.execPath, ["--input-type=module", "-e", program], { stdio: "ignore" });
  } catch {
    // The process was killed.
  }
  return new StateFile(folder, () => undefined);
}

describe("a journal of running calls", () => {
  it("reports once that a call may have run, then runs it", async () => {
    const journal = journalAfterCrash("pay 5");
    let runs = 0;
    const run = (key: string) =>
      runWithJournal(journal, { key, tool: "pay" }, async () => Promise.resolve(++runs));
    expect(await run("pay 6")).toBe(1);
    await expect(run("pay 5")).rejects.toMatchObject({ code: "outcome_unknown" });
    expect(runs).toBe(1);
    expect(await run("pay 5")).toBe(2);
    journal.close();
  });

  it("is for tools that are neither read-only nor idempotent", () => {
    expect(runsOnce({})).toBe(true);
    expect(runsOnce({ annotations: { destructiveHint: false } })).toBe(true);
    expect(runsOnce({ annotations: { readOnlyHint: true } })).toBe(false);
    expect(runsOnce({ annotations: { idempotentHint: true } })).toBe(false);
  });
});
