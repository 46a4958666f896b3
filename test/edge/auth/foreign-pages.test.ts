import { describe, expect, it } from "vitest";
import { callWith, json, newId, problemIn } from "../../support/edge.ts";

const ALICE = "alice-key-0123456789";
const APP = "https://app.example";
const keys = {
  AUTH: "bearer",
  API_KEYS: JSON.stringify({ [ALICE]: "alice" }),
  CORS_ORIGINS: APP,
};
const call = callWith(keys);
const as = (key: string) => ({ authorization: `Bearer ${key}` });

/** Stores a value that no page of another site may read, and returns its path. */
async function newSecret(): Promise<string> {
  const path = `/conversations/${newId()}/variables/diary`;
  expect((await call("PUT", path, json("Dear diary", as(ALICE)))).status).toBe(201);
  return path;
}

describe("a page of another origin", () => {
  const preflight = (origin: string, method = "DELETE") => ({
    headers: {
      origin,
      "access-control-request-method": method,
      "access-control-request-headers": "authorization,x-byref-local",
    },
  });
  const foreign =
    "https://evil.example null https://app.example.evil http://app.example https://APP.example " +
    "https://app.example:8443 https://app.example/ https://sub.app.example file:// * undefined";

  it.each(foreign.split(" "))("%s may not even ask", async (origin) => {
    const path = await newSecret();
    const asked = await call("OPTIONS", path, preflight(origin));
    expect(asked.headers.get("access-control-allow-origin")).toBeNull();
    expect(asked.headers.get("access-control-allow-credentials")).toBeNull();
    // Requests that are sent anyway get no readable answer.
    const headers = { origin, ...as(ALICE) };
    const read = await call("GET", path, { headers });
    expect(read.headers.get("access-control-allow-origin")).toBeNull();
    expect(read.headers.get("cross-origin-resource-policy")).toBe("same-origin");
    await read.text();
  });

  it("that is allowed can read why it was refused", async () => {
    const response = await call("GET", await newSecret(), { headers: { origin: APP } });
    expect(response.headers.get("access-control-allow-origin")).toBe(APP);
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    expect(response.headers.get("vary")?.toLowerCase()).toContain("origin");
    await problemIn(response, "unauthorized");
  });

  it.each([
    "foo",
    "*",
    "null",
    "app.example",
    "https://app.example/",
    "https://app.example/path",
    "https://app.example?x",
    "https://*.example",
    "https://user:hunter2@app.example",
    "https://app.example:443",
    "https://App.example",
    "https://app.example,",
    "https://app.example https://other.example",
    "https://app.example;https://other.example",
    "ftp://app.example",
    "javascript:alert(1)",
    "file://",
    "https://",
    "https://app.example, foo",
  ])("cannot be allowed by CORS_ORIGINS=%s", async (CORS_ORIGINS) => {
    const through = callWith({ ...keys, CORS_ORIGINS });
    for (const init of [{ headers: as(ALICE) }, preflight("foo")]) {
      const response = await through("OPTIONS", "/agents", init);
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
      const { detail } = await problemIn(response, "bad_configuration");
      expect(detail).toContain(
        "CORS_ORIGINS must be origins, separated by commas: https://app.example",
      );
      expect(detail).not.toContain("hunter2");
    }
  });
});
