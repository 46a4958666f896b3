import { execFile, execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { copyFolder, ensureWholeFolder } from "../../scripts/whole-folder.ts";
import { chromiumPath } from "../support/chromium.ts";
import { slow } from "../support/slow.ts";

const HOUR_SECONDS = 3_600;
/** Copies that are made while the folder changes. */
const COPIES = 20;
const module = join(import.meta.dirname, "../../scripts/whole-folder.ts");

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

  it("is replaced atomically, so that a copy has the files of one version", slow, async () => {
    const path = join(parent, "made");
    const enough = join(parent, "enough");
    const writer = `
      import { existsSync, writeFileSync } from "node:fs";
      import { newFolderFor, replaceFolder } from ${JSON.stringify(module)};
      for (let version = 0; !existsSync(${JSON.stringify(enough)}); version++) {
        const made = newFolderFor(${JSON.stringify(path)});
        for (const name of ["a", "b", "c"]) writeFileSync(made + "/" + name, String(version));
        replaceFolder(${JSON.stringify(path)}, made);
        // Gives a copy the time to succeed now and then.
        await new Promise((done) => setTimeout(done, version % 10));
      }`;
    const options = ["--input-type=module-typescript", "--eval", writer];
    const writing = [1, 2].map(() => promisify(execFile)(process.execPath, options));
    await vi.waitUntil(() => existsSync(path));
    const copy = join(parent, "copy");
    const seen = new Set<string>();
    try {
      while (seen.size < COPIES) {
        copyFolder(path, copy);
        const texts = ["a", "b", "c"].map((name) => readFileSync(join(copy, name), "utf8"));
        expect(new Set(texts).size).toBe(1);
        seen.add(texts.join());
      }
    } finally {
      writeFileSync(enough, "");
      await Promise.all(writing);
    }
    rmSync(enough);
    expect(readdirSync(parent).toSorted()).toEqual(["copy", "made"]);
  });

  it("ignores the remains of a killed process, and deletes them once they are old", async () => {
    for (const name of ["made.new-killed", "made.new-running"]) {
      mkdirSync(join(parent, name));
      writeFileSync(join(parent, name, "first"), "half");
    }
    const old = Date.now() / 1_000 - HOUR_SECONDS;
    utimesSync(join(parent, "made.new-killed"), old, old);
    await ensureWholeFolder(join(parent, "made"), writeTwo);
    expect(readdirSync(parent).toSorted()).toEqual(["made", "made.new-running"]);
  });
});

describe("the Chromium of the browser tests", () => {
  it("is the installed package's, whatever is in the temporary folder", async () => {
    const before = process.env.TMPDIR;
    const folder = mkdtempSync(join(tmpdir(), "byref-chromium-"));
    writeFileSync(join(folder, "chromium"), "of another version", { mode: 0o700 });
    try {
      process.env.TMPDIR = folder;
      const path = await chromiumPath();
      const [, version = ""] = /chromium-(\d+)\.\d+\.\d+\/chromium$/.exec(path) ?? [];
      const said = execFileSync(path, ["--version"], { encoding: "utf8" });
      expect(said).toContain(` ${version}.`);
    } finally {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
