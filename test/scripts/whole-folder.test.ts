import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ensureWholeFolder } from "../../scripts/whole-folder.ts";

describe("a folder that is created once", () => {
  let parent: string;
  const writeTwo = async (folder: string) => {
    writeFileSync(join(folder, "first"), "");
    await wait(20);
    writeFileSync(join(folder, "second"), "");
  };

  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), "byref-folder-"));
  });

  afterEach(() => rmSync(parent, { recursive: true, force: true }));

  it("appears whole when several create it at once, and leaves nothing else", async () => {
    const path = join(parent, "made");
    await Promise.all(
      [1, 2, 3].map(async () => {
        await ensureWholeFolder(path, writeTwo);
        expect(readdirSync(path)).toEqual(["first", "second"]);
      }),
    );
    expect(readdirSync(parent)).toEqual(["made"]);
  });

  it("does not exist after a failure, and can then be created", async () => {
    const path = join(parent, "made");
    const fail = async (folder: string) => {
      writeFileSync(join(folder, "first"), "");
      throw new Error("disk full");
    };
    await expect(ensureWholeFolder(path, fail)).rejects.toThrow("disk full");
    expect(readdirSync(parent)).toEqual([]);
    await ensureWholeFolder(path, writeTwo);
    expect(readdirSync(path)).toEqual(["first", "second"]);
  });
});
