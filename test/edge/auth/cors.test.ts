import { describe, expect, it } from "vitest";
import { callWith, newId, problemIn } from "../../support/edge.ts";

const APP = "http://localhost:5173";
const withCors = callWith({ AUTH: "none", CORS_ORIGINS: `${APP}, https://app.example` });
const without = callWith({ AUTH: "none" });
const preflight = (origin: string) => ({
  headers: {
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type",
  },
});

describe("CORS_ORIGINS", () => {
  it.each([APP, "https://app.example"])("lets pages of %s call", async (origin) => {
    const asked = await withCors("OPTIONS", "/conversations", preflight(origin));
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-origin")).toBe(origin);
    expect(asked.headers.get("access-control-allow-methods")).toContain("POST");
    expect(asked.headers.get("access-control-allow-headers")).toContain("content-type");
    const answer = await withCors("GET", "/agents", { headers: { origin } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
  });

  it("lets them write with conditions, and read a value's headers", async () => {
    const asked = await withCors("OPTIONS", "/conversations/x/variables/a", {
      headers: {
        origin: APP,
        "access-control-request-method": "PUT",
        "access-control-request-headers": "content-type,if-match",
      },
    });
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      expect(asked.headers.get("access-control-allow-methods")).toContain(method);
    }
    expect(asked.headers.get("access-control-allow-headers")).toContain("if-match");
    const at = `/conversations/${newId()}/variables/a`;
    const headers = { origin: APP, "content-type": "text/plain" };
    await (await withCors("PUT", at, { body: "text", headers })).text();
    const range = { origin: APP, range: "bytes=1-2" };
    const part = await withCors("GET", at, { headers: range });
    expect([part.status, await part.text()]).toEqual([206, "ex"]);
    const exposed = part.headers.get("access-control-expose-headers")?.toLowerCase();
    for (const name of ["etag", "location", "content-range", "accept-ranges"]) {
      expect(exposed).toContain(name);
    }
    // The content gives pages of other sites no access, whichever origin may call.
    expect(part.headers.get("access-control-allow-origin")).toBe(APP);
    expect(part.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
  });

  it("is off unless it names an origin", async () => {
    const asked = await without("OPTIONS", "/conversations", preflight(APP));
    expect(asked.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("a page of another site that sends no Origin", () => {
  it("is refused by its browser's Sec-Fetch-Site header", async () => {
    const headers = { "sec-fetch-site": "cross-site" };
    await problemIn(await without("GET", "/agents", { headers }), "foreign_origin");
    for (const site of ["same-origin", "none", "same-site"]) {
      const response = await without("GET", "/agents", { headers: { "sec-fetch-site": site } });
      expect(response.status).toBe(200);
    }
  });
});
