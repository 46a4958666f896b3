import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { unstable_readConfig } from "wrangler";
import { readSettings, settingNames } from "../../src/edge/settings.ts";
import { fencedIn } from "../support/guide-blocks.ts";

const root = join(import.meta.dirname, "../..");
const guide = readFileSync(join(root, "docs/guides/operating.md"), "utf8");

it("the guide names every setting, and its own are good ones", () => {
  expect(settingNames.filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
  const [secrets = ""] = /```json\n([^]*?)```/.exec(guide)?.slice(1) ?? [];
  expect(readSettings(JSON.parse(secrets) as Record<string, string>).AUTH).toBe("bearer");
});

it("wrangler reads the configuration of the guide as it is meant", () => {
  const folder = mkdtempSync(join(tmpdir(), "byref-guide-"));
  try {
    const path = join(folder, "wrangler.toml");
    const head = 'name = "own"\nmain = "worker.ts"\ncompatibility_date = "2026-10-01"\n';
    writeFileSync(join(folder, "worker.ts"), "");
    writeFileSync(path, [head, ...fencedIn(guide, "toml")].join("\n"));
    const own = unstable_readConfig({ config: path });
    const shipped = unstable_readConfig({ config: join(root, "wrangler.toml") });
    expect(own.durable_objects.bindings).toEqual(shipped.durable_objects.bindings.slice(0, 1));
    expect(own.migrations).toEqual(shipped.migrations.slice(0, 1));
    expect(own.ratelimits).toMatchObject([{ name: "RATE_LIMIT", simple: { period: 60 } }]);
    expect(own.analytics_engine_datasets).toMatchObject([{ binding: "ANALYTICS" }]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
