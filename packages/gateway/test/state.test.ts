import {
  existsSync,
  mkdtempSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  symlinkSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { allowedFolders } from "../src/cli/allowed-folders.ts";
import { dataFolder } from "../src/cli/data-folder.ts";
import { stateFolder } from "../src/cli/state.ts";

const place = () => realpathSync(mkdtempSync(join(tmpdir(), "state-")));

const NAMES = [
  "..",
  ".",
  "",
  "...",
  "../..",
  "../other",
  "..\\other",
  "a/../..",
  "/etc",
  "~",
  "C:\\x",
  "a/b",
  "a_b",
  "a b",
  "a:b",
  "a.",
  "a\0b",
  "a\nb",
  "é",
  "x".repeat(300),
  "y".repeat(300),
  ".hidden",
  "-",
  "a.b",
  "plain",
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
