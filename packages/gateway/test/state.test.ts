import {
  existsSync,
  mkdtempSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  symlinkSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, describe, expect, it, vi, beforeEach } from "vitest";
import { allowedFolders } from "../src/cli/allowed-folders.ts";
import { dataFolder } from "../src/cli/data-folder.ts";
import { stateFolder, StateFile, type SharedStore, sharedStore } from "../src/cli/state.ts";
import { execFile, execFileSync } from "node:child_process";
import { DatabaseSync } from "node:sqlite";
import { NO_COUNTS, runsOnce } from "../src/gateway-state.ts";
import { slow } from "../../../test/support/slow.ts";
import { promisify } from "node:util";
import type { StoreOptions } from "../../../src/store/store-state.ts";

const place = () => realpathSync(mkdtempSync(join(tmpdir(), "state-")));

const NAMES = [
  ..."..|.||../other|a/../..|/etc|~|C:\\x|a/b|a:b|a.|a\0b|a\nb|é|.hidden|plain".split("|"),
  "x".repeat(300),
];

describe("a workspace", () => {
  it.each(NAMES)("called %j has a folder directly in the state folder", (workspace) => {
    const outside = place();
    const state = join(outside, "state");
    const folder = stateFolder({ state, workspace });
    expect(dirname(folder)).toBe(state);
    expect(readdirSync(state)).toEqual([relative(state, folder)]);
    expect(readdirSync(outside)).toEqual(["state"]);
  });

  it("is refused if a link has its name", () => {
    const [state, other] = [place(), place()];
    symlinkSync(other, join(state, "linked"));
    symlinkSync(join(other, "none"), join(state, "dangling"));
    for (const workspace of ["linked", "dangling"]) {
      expect(() => stateFolder({ state, workspace })).toThrow(`${workspace} is no folder of yours`);
    }
    expect(readdirSync(other)).toEqual([]);
  });
});

describe("the folder for data", () => {
  afterEach(() => vi.unstubAllEnvs());

  it.each(["", "relative", "./x"])("is not below the working folder for %j", (path) => {
    vi.stubEnv("XDG_DATA_HOME", path);
    vi.stubEnv("LOCALAPPDATA", path);
    expect(dataFolder().startsWith(homedir())).toBe(true);
    vi.stubEnv("HOME", path);
    expect(relative(process.cwd(), dataFolder())).toMatch(/^\.\./u);
  });
});

it("the gateway's own folders are not written to, although they are in an allowed folder", async () => {
  const root = place();
  const state = join(root, "state");
  mkdirSync(join(state, "work"), { recursive: true });
  symlinkSync(state, join(root, "link"));
  const files = allowedFolders([root], [join(root, "link"), join(root, "none")]);
  async function* content() {
    yield new Uint8Array(1);
  }
  for (const file of ["state/key", "state/work/tools.json", "link/key", "./state/key"]) {
    await expect(files.save(file, content())).rejects.toMatchObject({ code: "bad_path" });
  }
  await files.save("a", content());
  expect(existsSync(join(root, "a"))).toBe(true);
  expect(readdirSync(state)).toEqual(["work"]);
});

let folder = "";
let file = "";
let log: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "byref-statistics-"));
  file = join(folder, "gateway.sqlite");
  log = [];
});

const open = () => new StateFile(folder, (line) => log.push(line));

it("the key for what clients send back is that of the workspace", () => {
  const [key, same] = [open().signingKey(), open().signingKey()];
  expect(key).toHaveLength(32);
  expect(same).toEqual(key);
});

it("what a server has said is kept beside what others say, and replaced", () => {
  const { lists } = open();
  lists.set("shop", { tools: [], instructions: "Old." });
  lists.set("other", { instructions: "Other." });
  lists.set("shop", { tools: [], instructions: "New." });
  const kept = ["shop", "other", "none"].map((key) => open().lists.get(key));
  expect(kept).toEqual([
    { tools: [], instructions: "New." },
    { instructions: "Other." },
    undefined,
  ]);
  expect(readFileSync(file, "utf8")).not.toContain("shop");
});

describe("counts in a file", () => {
  it("adds up what two processes count", () => {
    const [one, other] = [open(), open()];
    for (const counting of [one, other, one]) counting.add({ calls: 1, charactersSent: 3 });
    for (const each of [one, other])
      expect(each.read()).toEqual({ ...NO_COUNTS, calls: 3, charactersSent: 9 });
  });

  it.each([
    [
      "text",
      () => writeFileSync(file, "This is no database, but a text of some length.".repeat(99)),
    ],
    ["cut off", () => truncateSync(file, statSync(file).size - 4_096)],
  ])("starts over if it is damaged (%s), and keeps the damaged file", (_what, damage) => {
    const first = open();
    first.add({ calls: 1 });
    first.close();
    damage();
    const damaged = readFileSync(file);
    const again = open();
    expect(log).toEqual([expect.stringContaining("damaged")]);
    again.add({ calls: 3 });
    expect(again.read().calls).toBe(3);
    expect(readFileSync(`${file}.damaged`)).toEqual(damaged);
  });

  it("fails no call while another process has locked it", slow, () => {
    const statistics = open();
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    statistics.add({ calls: 1 });
    expect(log).toEqual([expect.stringContaining("locked")]);
    other.exec("COMMIT");
    statistics.add({ calls: 1 });
    expect(statistics.read().calls).toBe(1);
  });
});

const large = (letter: string) => letter.repeat(3_000_000);

function newFile(): string {
  return join(mkdtempSync(join(tmpdir(), "shared-")), "variables.sqlite");
}

/** Opens two connections to one file, like two processes. */
function two(options: StoreOptions = {}): readonly [SharedStore, SharedStore] {
  const file = newFile();
  return [sharedStore(file, options), sharedStore(file, options)];
}

describe("a store of two processes", () => {
  it("shows each what the other one has written, replaced, renamed and deleted", async () => {
    const [one, other] = two();
    await one.save({ name: "a", value: { n: 1 } });
    expect(await other.read("a")).toEqual({ n: 1 });
    await other.save({ name: "a", value: { n: 2 } });
    expect(await one.read("a")).toEqual({ n: 2 });
    expect(one.glance("a")?.version).toBe(2);
    one.update("a", { description: "A" });
    expect(other.info("a")?.description).toBe("A");
    await other.save({ value: 1 });
    await one.save({ value: 2 });
    expect(other.list().map(({ name }) => name)).toEqual(["a", "variable_1", "variable_2"]);
    expect(other.bytes()).toBe(one.bytes());
    one.delete("a");
    expect(other.glance("a")).toBeUndefined();
    expect(await other.read("a")).toBeUndefined();
    expect(other.couldBegin("a")).toBe(false);
  });

  it("gives concurrent calls unique names, and loses no append", async () => {
    const [one, other] = two();
    await one.save({ name: "list", value: [] });
    const call = (inputDigest: string) => ({ base: "call", numbered: true, inputDigest });
    const write = async (store: SharedStore, first: number) => {
      for (let index = first; index < 100; index += 2) {
        await store.save({ name: call(String(index)), value: index });
        await store.save({ name: "list", mode: "append", value: [index] });
      }
    };
    await Promise.all([write(one, 0), write(other, 1)]);
    const names = one.list().map(({ name }) => name);
    expect(new Set(names).size).toBe(101);
    expect(other.list().map(({ name }) => name)).toEqual(names);
    const list = (await one.read("list")) as readonly number[];
    expect(new Set(list).size).toBe(100);
  });

  it("lets one finish reading a value that the other one replaces", slow, async () => {
    const [one, other] = two();
    await one.save({ name: "a", value: large("x") });
    const opened = other.open("a");
    await one.save({ name: "a", value: large("y") });
    await one.sweep();
    const read = await opened?.read(2_000_000, 3_000_000);
    expect(new TextDecoder().decode(read) === "x".repeat(1_000_000)).toBe(true);
    opened?.close();
    expect((await other.read("a")) === large("y")).toBe(true);
  });

  it(
    "can be created by processes that start at the same time, and has everything they wrote",
    slow,
    async () => {
      const file = newFile();
      const module = new URL("../src/cli/state.ts", import.meta.url).href;
      const run = (letter: string) =>
        promisify(execFile)(process.execPath, [
          "--input-type=module",
          "-e",
          `import { sharedStore } from ${JSON.stringify(module)};
         const store = sharedStore(${JSON.stringify(file)});
         for (let index = 0; index < 60; index++) {
           await store.save({ name: { base: "call", numbered: true, inputDigest: ${JSON.stringify(letter)} + index }, value: ${JSON.stringify(letter)} + index });
           await store.save({ name: "last", value: "${letter}".repeat(index * 3_000) });
         }
         store.close();`,
        ]);
      await Promise.all(["a", "b", "c"].map(run));
      const store = sharedStore(file);
      const infos = store.list({ last: 1_000 }).filter(({ name }) => name.startsWith("call"));
      const values = await Promise.all(infos.map(({ name }) => store.read(name)));
      expect(new Set(values).size).toBe(180);
      expect(store.info("last")?.version).toBe(180);
    },
  );
});

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
    const run = (key: string) => journal.runOnce(key, "pay", async () => Promise.resolve(++runs));
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
