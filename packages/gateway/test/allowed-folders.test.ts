import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { allowedFolders } from "../src/cli/allowed-folders.ts";
import { slow } from "../../../test/support/slow.ts";

/** Creates an allowed folder beside a folder that is not allowed. */
function folders() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "allowed-")));
  const [inside, outside] = [join(root, "inside"), join(root, "outside")];
  mkdirSync(inside);
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.txt"), "secret");
  return { root, inside, outside, files: allowedFolders([inside]) };
}

async function* content(...texts: string[]) {
  for (const text of texts) yield new TextEncoder().encode(text);
}

describe("a file in an allowed folder", () => {
  it("is written by a relative or absolute path, and replaced as a whole", async () => {
    const { inside, files } = folders();
    mkdirSync(join(inside, "below"));
    expect(await files.save("a.txt", content("one ", "two"))).toEqual({
      file: join(inside, "a.txt"),
      bytes: 7,
    });
    await files.save(join(inside, "below", "b.txt"), content("b"));
    await files.save("below/b.txt", content("c"));
    expect(readFileSync(join(inside, "a.txt"), "utf8")).toBe("one two");
    expect(readFileSync(join(inside, "below", "b.txt"), "utf8")).toBe("c");
    expect(readdirSync(inside)).toEqual(["a.txt", "below"]);
  });

  it("keeps the mode of the file that it replaces, and leaves other hard links to it alone", async () => {
    const { inside, outside, files } = folders();
    writeFileSync(join(inside, "a"), "a");
    chmodSync(join(inside, "a"), 0o640);
    linkSync(join(outside, "secret.txt"), join(inside, "linked"));
    await files.save("a", content("b"));
    await files.save("linked", content("b"));
    expect(statSync(join(inside, "a")).mode & 0o777).toBe(0o640);
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret");
  });

  it("may be named through a link to the allowed folder itself", async () => {
    const { root, inside } = folders();
    symlinkSync(inside, join(root, "link"));
    const files = allowedFolders([join(root, "link")]);
    await files.save(join(root, "link", "a"), content("a"));
    await files.save(join(inside, "b"), content("b"));
    expect(readdirSync(inside)).toEqual(["a", "b"]);
  });

  it("is unchanged if its new content fails, and no other file is left behind", slow, async () => {
    const { inside, files } = folders();
    await files.save("a", content("before"));
    async function* failing() {
      yield new TextEncoder().encode("half");
      throw new Error("It broke.");
    }
    await expect(files.save("a", failing())).rejects.toThrow("It broke.");
    const huge = async function* () {
      for (;;) yield new Uint8Array(16_777_216);
    };
    await expect(files.save("a", huge())).rejects.toMatchObject({ code: "limit_exceeded" });
    expect(readFileSync(join(inside, "a"), "utf8")).toBe("before");
    expect(readdirSync(inside)).toEqual(["a"]);
  });
});

describe("a file that must not be written", () => {
  it.each([
    ..."../outside/new|below/../../outside/new|ROOT/outside/new|ROOT/inside-too/new".split("|"),
    ..."/etc/passwd|linked-folder/new|linked-file|dangling|folder|socket|missing/new".split("|"),
    ...".|a/|..|a\0b|a\nb|..\\outside\\new|".split("|"),
    "x".repeat(2_000),
  ])("is refused: %j", async (name) => {
    const { root, inside, outside, files } = folders();
    mkdirSync(join(root, "inside-too"));
    mkdirSync(join(inside, "folder"));
    symlinkSync(outside, join(inside, "linked-folder"));
    symlinkSync(join(outside, "secret.txt"), join(inside, "linked-file"));
    symlinkSync(join(outside, "new"), join(inside, "dangling"));
    const socket = createServer().listen(join(inside, "socket"));
    await once(socket, "listening");
    const before = readdirSync(inside);
    const path = name.replace("ROOT", root);
    await expect(files.save(path, content("evil"))).rejects.toMatchObject({ code: "bad_path" });
    expect(readdirSync(outside)).toEqual(["secret.txt"]);
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret");
    expect(readdirSync(inside)).toEqual(before);
    expect(readdirSync(join(root, "inside-too"))).toEqual([]);
    socket.close();
  });

  it("is not written outside if its folder becomes a link while it is written", async () => {
    const { root, inside, outside, files } = folders();
    mkdirSync(join(inside, "below"));
    async function* swapping() {
      yield new TextEncoder().encode("evil");
      renameSync(join(inside, "below"), join(root, "moved"));
      symlinkSync(outside, join(inside, "below"));
    }
    await expect(files.save("below/secret.txt", swapping())).rejects.toMatchObject({
      code: "bad_path",
    });
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret");
    expect(readdirSync(outside)).toEqual(["secret.txt"]);
    expect(readdirSync(join(root, "moved"))).toEqual([]);
  });

  it("is not written over a link that appears while it is written", async () => {
    const { inside, outside, files } = folders();
    async function* linking() {
      yield new TextEncoder().encode("evil");
      symlinkSync(join(outside, "secret.txt"), join(inside, "a"));
    }
    await expect(files.save("a", linking())).rejects.toMatchObject({ code: "bad_path" });
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret");
    expect(existsSync(join(inside, "a"))).toBe(true);
  });

  it("is not accepted as an allowed folder", () => {
    const { outside } = folders();
    expect(() => allowedFolders([join(outside, "none")])).toThrow("is not a folder");
    expect(() => allowedFolders([join(outside, "secret.txt")])).toThrow("is not a folder");
  });
});
