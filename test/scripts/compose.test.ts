import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { settingNames } from "../../src/edge/settings.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

it("the compose file uses only existing settings, requires keys, and keeps the state", () => {
  const compose = read("examples/compose/compose.yaml");
  const [, byref = "", caddy = ""] =
    /^ {2}byref:\n([^]*?)^ {2}caddy:\n([^]*?)^volumes:/m.exec(compose) ?? [];
  const set = Array.from(byref.matchAll(/^ {6}([A-Z_]+): /gm), ([, name = ""]) => name);
  expect(set).toContain("API_KEYS");
  expect(set.filter((name) => !settingNames.includes(name))).toEqual([]);
  expect(byref).toContain("AUTH: bearer");
  // Only the proxy can be reached from outside.
  expect(byref).not.toContain("ports:");
  expect(caddy).toContain('- "443:443"');
  const dockerfile = read("Dockerfile");
  const [, port] = /^EXPOSE (\d+)$/m.exec(dockerfile) ?? [];
  expect(read("examples/compose/Caddyfile")).toContain(`byref:${port}`);
  expect(byref).toContain(`:${/^VOLUME (.*)$/m.exec(dockerfile)?.[1]}`);
});
