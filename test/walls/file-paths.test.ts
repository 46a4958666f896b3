import { afterAll, expect, it, vi } from "vitest";
import * as files from "../../src/tool/files.ts";

/** The check of paths is off: what holds without it? Other files of the worker have loaded it already. */
vi.resetModules();
vi.doMock("../../src/tool/files.ts", () => ({ ...files, filePathIn: (path: string) => path }));
const { R2Files } = await import("../../src/edge/platform/r2-files.ts");

afterAll(() => {
  vi.doUnmock("../../src/tool/files.ts");
  vi.resetModules();
});

/** A bucket, whose keys are texts without meaning. */
function bucket() {
  const keys = new Map<string, string>();
  const made = {
    put: async (key: string) => keys.set(key, "x"),
    head: async (key: string) => (keys.has(key) ? { etag: "1", customMetadata: {} } : null),
    list: async ({ prefix = "" }: { prefix?: string }) => ({
      objects: [...keys.keys()].filter((key) => key.startsWith(prefix)).map((key) => ({ key })),
      truncated: false,
    }),
  };
  return { keys, bucket: made as unknown as R2Bucket };
}

const PATHS = [
  ["../other/files/secret.txt", "..", "/other/files/secret.txt"],
  ["%2e%2e/other/files/secret.txt", "..\\other\\files\\secret.txt"],
  ["a/../../../other/files/secret.txt", "file:../other/files/secret.txt"],
  ["\0../other/files/secret.txt", ""],
].flat();

it.each(PATHS)(
  "a path that passes the check, %j, is a file of its own conversation",
  async (path) => {
    const { keys, bucket: shared } = bucket();
    const [own, other] = [new R2Files(shared, "own/"), new R2Files(shared, "other/")];
    await other.write("secret.txt", { text: "secret", mediaType: "text/plain" }, {});
    await own.write(path, { text: "x", mediaType: "text/plain" }, {});
    expect([...keys.keys()]).toEqual(["other/files/secret.txt", `own/files/${path}`]);
    expect(await own.info("../../other/files/secret.txt")).toBeUndefined();
    for (const prefix of ["", "../", "../../other/files/", "/"]) {
      expect(await own.list(prefix)).toEqual(path.startsWith(prefix) ? [path] : []);
    }
  },
);
