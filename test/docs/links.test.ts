import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { lexer, type Token, walkTokens } from "marked";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });

/** All pages for readers. */
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "CHANGELOG.md",
  "bench/README.md",
  "create-byref/README.md",
  "llms.txt",
  "skills/byref/SKILL.md",
  ...docs.filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`),
].toSorted();

/** Guides also mention files and scripts of projects that these create. */
const templates = readdirSync(join(root, "create-byref/templates")).map(
  (name) => `create-byref/templates/${name}`,
);

function scriptsOf(folder: string): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
    scripts: Readonly<Record<string, string>>;
  };
  return Object.keys(scripts);
}

function tokensOf(page: string): readonly Token[] {
  const tokens: Token[] = [];
  walkTokens(lexer(readFileSync(resolve(root, page), "utf8")), (token) => void tokens.push(token));
  return tokens;
}

/** Returns the anchors that GitHub gives to headings. Repeated names get a number. */
function anchorsOf(page: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const token of tokensOf(page)) {
    if (token.type !== "heading") continue;
    const words = String(token.text).replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    const anchor = words
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-");
    let unused = anchor;
    for (let number = 1; anchors.has(unused); number++) unused = `${anchor}-${number}`;
    anchors.add(unused);
  }
  return anchors;
}

function isThere(page: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const file = path === "" ? resolve(root, page) : resolve(root, dirname(page), path);
  if (!existsSync(file)) return false;
  return anchor === undefined || (file.endsWith(".md") && anchorsOf(file).has(anchor));
}

const scripts = new Set(["", ...templates].flatMap(scriptsOf));

it.each(pages)("%s: the links, files and scripts in it exist", (page) => {
  const links = tokensOf(page).flatMap((token) =>
    token.type === "link" || token.type === "image" ? [decodeURI(String(token.href))] : [],
  );
  const own = links.filter((link) => !/^[a-z]+:/i.test(link));
  expect(own.filter((link) => !isThere(page, link))).toEqual([]);
  const text = readFileSync(join(root, page), "utf8");
  const named = (pattern: RegExp) => Array.from(text.matchAll(pattern), ([, name = ""]) => name);
  const isKnown = (path: string) =>
    ["", ...templates].some((folder) => existsSync(join(root, folder, path)));
  const files = named(/`((?:src|test|scripts|docs|examples|bench)\/[\w./-]+\w)`/g);
  expect(files.filter((path) => !isKnown(path))).toEqual([]);
  const run = named(/npm run ([\w:-]+)/g);
  expect(run.filter((name) => !scripts.has(name))).toEqual([]);
});

it("llms.txt lists every guide, with the description from the index", () => {
  const guides = readFileSync(join(root, "docs/guides/README.md"), "utf8");
  const rows = guides.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\) \| (.*) \|$/gm);
  const expected = Array.from(
    rows,
    ([, title, file, subject]) => `- [${title}](docs/guides/${file}): ${subject}`,
  );
  expect(expected.length).toBeGreaterThan(10);
  const text = readFileSync(join(root, "llms.txt"), "utf8");
  expect(expected.filter((line) => !text.includes(`${line}\n`))).toEqual([]);
});
