import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { unstable_readConfig } from "wrangler";
import { dataPointOf, Trace, type TurnRecord, turnRecord } from "../../src/edge/telemetry/trace.ts";
import { readSettings, settingNames } from "../../src/edge/settings.ts";
import { blockOf, fencedIn } from "../support/fences.ts";

const root = join(import.meta.dirname, "../..");
const guide = readFileSync(join(root, "docs/guides/operating.md"), "utf8");

it("the guide names every setting, and its example is valid", () => {
  expect(settingNames.filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
  const secrets = blockOf(guide, "json");
  expect(readSettings(JSON.parse(secrets) as Record<string, string>).AUTH).toBe("bearer");
});

it("wrangler reads the guide's configuration as intended", () => {
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

describe("the optional parts of wrangler.toml", () => {
  const shipped = readFileSync(join(root, "wrangler.toml"), "utf8");
  const optional = shipped.match(/^(?:# .*\n)*# \[.*\n(?:# .*\n)*/gm) ?? [];
  const settings = optional.map((block) =>
    block
      .split("\n")
      .filter((line) => /^# (?:\[|[ \w.]+ = |  \{|\])/.test(line))
      .map((line) => line.slice(2))
      .join("\n"),
  );

  it("are valid when uncommented", () => {
    const folder = mkdtempSync(join(tmpdir(), "byref-optional-"));
    try {
      const path = join(folder, "wrangler.toml");
      mkdirSync(join(folder, "src"));
      writeFileSync(join(folder, "src/index.ts"), "");
      writeFileSync(path, [shipped, ...settings].join("\n"));
      const config = unstable_readConfig({ config: path });
      expect(config).toMatchObject({
        ai: { binding: "AI" },
        ratelimits: [{ name: "RATE_LIMIT" }],
        limits: { cpu_ms: 30_000 },
        analytics_engine_datasets: [{ binding: "ANALYTICS" }],
      });
      const staging = unstable_readConfig({ config: path, env: "staging" });
      expect(staging.name).toBe("byref-staging");
      expect(staging.durable_objects.bindings).toEqual(config.durable_objects.bindings);
      expect(staging.worker_loaders).toEqual(config.worker_loaders);
      expect(staging.r2_buckets[0]?.bucket_name).not.toBe(config.r2_buckets[0]?.bucket_name);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

it("the log line and data point of a turn have the documented fields, in order", () => {
  const line = blockOf(guide, "json", 1);
  const shown = JSON.parse(line) as TurnRecord;
  const trace = new Trace(() => Date.parse(shown.startedAt));
  trace.root.activity = { kind: "agent", name: "orders", model: "m", provider: "p" };
  trace.root.begin({ kind: "model", name: "m", model: "m", provider: "p" }).firstOutput();
  trace.end({});
  const { tenant, conversation, turn, queuedMs } = shown;
  const { status, finishReason = "stop", usage, savings, cost } = shown;
  const end = { status, finishReason, ...(usage && { usage }), ...(savings && { savings }), cost };
  const record = turnRecord({ tenant, conversation, turn, queuedMs }, trace, end);
  expect(shown.event).toBe(record.event);
  const keysOf = (value: object) => Object.keys(JSON.parse(JSON.stringify(value)) as object);
  expect(keysOf(shown)).toEqual(keysOf(record));
  const [, list = ""] = /`double17`: (.*?);/.exec(guide) ?? [];
  const names = Array.from(list.matchAll(/`(\w+)`/g), ([, name = ""]) => name);
  const place = (key: string, value: unknown) =>
    names.includes(key) ? names.indexOf(key) + 1 : value;
  const { doubles } = dataPointOf(JSON.parse(line, place) as TurnRecord);
  expect(doubles).toEqual(names.map((_, index) => index + 1));
});
