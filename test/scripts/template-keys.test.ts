import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const folder = "create-byref/templates";
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && !entry.parentPath.includes("node_modules"))
  .map(({ parentPath, name }) => join(parentPath, name));

test("no template is open to everybody once it is deployed, or has a key", () => {
  const settings = files.filter((path) => path.endsWith("wrangler.toml"));
  const authentications = settings.flatMap((path) =>
    [...readFileSync(path, "utf8").matchAll(/^AUTH = "(.*?)"/gm)].map(([, value]) => value),
  );
  expect(authentications).toEqual(["bearer", "bearer", "bearer"]);
  const open = files.flatMap((path) =>
    readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => /AUTH\b.{0,4}\bnone/.test(line) && !/wrangler dev/.test(line))
      .map((line) => `${path}: ${line.trim()}`),
  );
  expect(open).toEqual([]);
  const keys = /\bsk-[\w-]{16,}|^\s*(?:\w*API_KEYS?|\w*SECRET|\w*TOKEN)\s*=\s*["']?[\w{]{8,}/m;
  expect(files.filter((path) => keys.test(readFileSync(path, "utf8")))).toEqual([]);
});
