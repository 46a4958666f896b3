import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { readSettings, settingNames } from "../../src/edge/settings.ts";

const text = readFileSync(join(import.meta.dirname, "../../.dev.vars.example"), "utf8");
const asked = Object.fromEntries(
  [...text.matchAll(/^(\w+)=(.*)$/gmu)].map(([, name = "", value = ""]) => [name, value]),
);

describe("the settings that Cloudflare's deploy button asks for", () => {
  it("exist, and have descriptions", () => {
    const { bindings } = packageJson.cloudflare;
    expect(Object.keys(asked)).toEqual(["AUTH", "API_KEYS", "MODEL"]);
    for (const name of Object.keys(asked)) {
      expect(settingNames).toContain(name);
      expect(Object.keys(bindings)).toContain(name);
    }
  });

  it("let nobody in by default", () => {
    expect(() => readSettings(asked)).toThrow(/^API_KEYS must be JSON/);
  });

  it("explain how to set keys, and how to work locally without keys", () => {
    expect(() => readSettings({ AUTH: "bearer" })).toThrow(
      /^API_KEYS must be set: .*\{"<key>": "<tenant>"\}.*wrangler dev --var AUTH:none\.$/,
    );
  });

  it("are sufficient once there is a key", () => {
    const API_KEYS = JSON.stringify({ "a-key-of-my-own-making": "me" });
    expect(readSettings({ ...asked, API_KEYS })).toMatchObject({ AUTH: "bearer", MODEL: "demo" });
  });
});
