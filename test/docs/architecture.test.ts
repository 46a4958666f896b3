import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const page = readFileSync("docs/architecture.md", "utf8");
/** `| folder | contents | begin with |` */
const rows = [...page.matchAll(/^\| `(src\/[^`]+)` \| (.+) \| (.+) \|$/gm)].map(
  ([, folder = "", , begin = ""]) => ({ folder, begin: namesIn(begin) }),
);

describe("docs/architecture.md", () => {
  test("has a row for every folder of the source", () => {
    expect(rows.map(({ folder }) => folder).toSorted()).toEqual(sourceFolders("src").toSorted());
  });

  test("names existing files to start with in each folder", () => {
    const missing = rows.flatMap(({ folder, begin }) =>
      begin.map((name) => join(folder, name)).filter((path) => !existsSync(path)),
    );
    expect([missing, rows.filter(({ begin }) => begin.length === 0)]).toEqual([[], []]);
  });

  test("lists seven files to read, of at most 4,500 lines", () => {
    const [, section = ""] = /### Seven files to read\n([^]*?)\n###/.exec(page) ?? [];
    const files = [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, name = ""]) => `src/${name}`);
    const lines = files.map((file) => readFileSync(file, "utf8").split("\n").length - 1);
    expect(files).toHaveLength(7);
    expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(4_500);
  });

  test("names only existing files", () => {
    const named = namesIn(page).filter((name) => name.includes("/"));
    const packages = readdirSync("packages").map((name) => `packages/${name}/src`);
    const roots = ["", "src", "page/src", ...packages];
    const missing = named.filter((name) => !roots.some((root) => existsSync(join(root, name))));
    expect(named.length).toBeGreaterThan(100);
    expect(missing).toEqual([]);
  });
});

function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/`([\w./-]+\.tsx?)`/g)].map(([, name = ""]) => name);
}

function sourceFolders(root: string): readonly string[] {
  const entries = readdirSync(root, { withFileTypes: true });
  const folders = entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(root, name));
  return folders.flatMap((folder) => [folder, ...sourceFolders(folder)]);
}
