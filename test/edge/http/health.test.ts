import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };
import { callWith, ORIGIN } from "../../support/edge.ts";

describe("GET /health", () => {
  it("answers without a key on the deployed Worker", async () => {
    const response = await exports.default.fetch(`${ORIGIN}/health`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({ ok: true, version: packageJson.version });
  });

  it.each([
    {},
    { AUTH: "none" },
    { AUTH: "bearer", API_KEYS: '{"0123456789abcdef":"t"}' },
    { AUTH: "bearer", API_KEYS: "broken" },
    { AUTH: "unknown" },
  ])("answers with the settings %j, under any host", async (settings) => {
    const response = await callWith(settings)("GET", "http://byref.example/health");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ ok: true });
  });
});
