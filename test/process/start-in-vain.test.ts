import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { startInVain } from "../support/server.ts";

describe.concurrent("a failed start says what to do", () => {
  it.each<[string, Record<string, string>, RegExp]>([
    ["an unknown model", { MODEL: "nope" }, /\bMODEL must be .*openai-compatible:<model>/],
    ["a port that is not a number", { PORT: "abc" }, /PORT must be a number .*abc/],
    ["keys that are not JSON", { AUTH: "bearer", API_KEYS: "k" }, /API_KEYS is not JSON/],
  ])("%s", async (_, env, message) => {
    const { code, output } = await startInVain(env);
    expect(output).toMatch(message);
    expect(code).toBe(1);
    expect(output).not.toMatch(/^ready /m);
    // One sentence for a person, without a stack trace.
    expect(output.trim().split("\n")).toHaveLength(1);
  });

  it("does not print keys", async () => {
    const API_KEYS = JSON.stringify({ "tooshort-secret": "acme" });
    const { code, output } = await startInVain({ AUTH: "bearer", API_KEYS });
    expect(code).toBe(1);
    expect(output).toContain("API_KEYS");
    expect(output).toMatch(/at least 16 characters/);
    expect(output).not.toContain("tooshort-secret");
  });

  it("a port that is in use", async () => {
    const other = createServer((socket) => socket.on("error", () => socket.destroy()));
    await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
    const { port } = other.address() as AddressInfo;
    const { code, output } = await startInVain({ PORT: String(port) });
    other.close();
    expect(code).toBe(1);
    const refusal = `Port ${port} cannot be used: it is in use. Set PORT to another one.`;
    expect(output.trim()).toBe(refusal);
    expect(output).not.toMatch(/^ready /m);
  });
});
