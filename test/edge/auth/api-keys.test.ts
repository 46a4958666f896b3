import { describe, expect, it, vi } from "vitest";
import { callWith, problemIn } from "../../support/edge.ts";

const KEY = "alice-key-0123456789";

describe("API_KEYS", () => {
  it.each<readonly [string, Readonly<Record<string, unknown>>]>([
    ["a short key", { hunter2: "t" }],
    ["a key that is invalid in a header", { "hunter2 with spaces in": "t" }],
    ["a non-ASCII key", { "hunter2-hünter2-hunter2": "t" }],
    ["a key that is too long", { ["hunter2".repeat(100)]: "t" }],
    ["no tenant", { "hunter2-hunter2-hunter2": "" }],
    ["a tenant that is too long", { "hunter2-hunter2-hunter2": "t".repeat(257) }],
    ["a tenant that is half a character", { "hunter2-hunter2-hunter2": "\ud800" }],
    ["a tenant that is a list", { "hunter2-hunter2-hunter2": ["t"] }],
  ])("are refused with %s, and not shown", async (_, keys) => {
    const call = callWith({ AUTH: "bearer", API_KEYS: JSON.stringify(keys) });
    const { detail } = await problemIn(await call("GET", "/agents"), "bad_configuration");
    expect(detail).toContain("API_KEYS must be JSON");
    expect(detail).not.toContain("hunter2");
  });

  it("let nobody in if there are none", async () => {
    const call = callWith({ AUTH: "bearer", API_KEYS: "{}" });
    const headers = { authorization: `Bearer ${KEY}` };
    await problemIn(await call("GET", "/agents", { headers }), "unauthorized");
  });

  it("are all compared in constant time, wherever the right one is", async () => {
    const others = Array.from({ length: 9 }, (_, at) => [`other-key-${at}-0123456789`, "other"]);
    const compare = vi.spyOn(crypto.subtle, "timingSafeEqual");
    for (const entries of [
      [[KEY, "alice"], ...others],
      [...others, [KEY, "alice"]],
    ]) {
      const API_KEYS = JSON.stringify(Object.fromEntries(entries));
      const call = callWith({ AUTH: "bearer", API_KEYS });
      for (const [key, status] of [
        [KEY, 200],
        [`${KEY}x`, 401],
        ["x", 401],
      ] as const) {
        compare.mockClear();
        const headers = { authorization: `Bearer ${key}` };
        expect((await call("GET", "/agents", { headers })).status).toBe(status);
        const sizes = compare.mock.calls.flat().map(({ byteLength }) => byteLength);
        expect(sizes).toEqual(Array.from({ length: 20 }, () => 32));
      }
    }
    compare.mockRestore();
  });
});
