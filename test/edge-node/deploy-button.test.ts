import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { readSettings, settingNames } from "../../src/edge/settings.ts";

const text = readFileSync(join(import.meta.dirname, "../../.dev.vars.example"), "utf8");
const asked = Object.fromEntries(
  [...text.matchAll(/^(\w+)=(.*)$/gmu)].map(([, name = "", value = ""]) => [name, value]),
);

describe("what Cloudflare's deploy button asks for", () => {
  it("is a setting, each with a description", () => {
    const { bindings } = packageJson.cloudflare;
    expect(Object.keys(asked)).toEqual(["AUTH", "API_KEYS", "MODEL"]);
    for (const name of Object.keys(asked)) {
      expect(settingNames).toContain(name);
      expect(Object.keys(bindings)).toContain(name);
    }
  });

  it("lets nobody in for whoever leaves it as it is", () => {
    expect(() => readSettings(asked)).toThrow(/^API_KEYS must be JSON/);
  });

  it("says without keys how to set them, and how to do without on one's own machine", () => {
    expect(() => readSettings({ AUTH: "bearer" })).toThrow(
      /^API_KEYS must be set: .*\{"<key>": "<tenant>"\}.*wrangler dev --var AUTH:none\.$/,
    );
  });

  it("is all that is needed once there is a key", () => {
    const API_KEYS = JSON.stringify({ "a-key-of-my-own-making": "me" });
    expect(readSettings({ ...asked, API_KEYS })).toMatchObject({ AUTH: "bearer", MODEL: "demo" });
  });
});
