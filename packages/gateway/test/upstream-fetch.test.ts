import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { upstreamFetch } from "../src/servers/mcp-fetch.ts";
import { maxBodyBytes, maxTries } from "../../../src/limits.ts";
import { type Loopback, startLoopback } from "../../../test/support/loopback.ts";
import { slow } from "../../../test/support/slow.ts";

const MEGABYTE = "x".repeat(1_000_000);
const COUNT = Math.ceil(maxBodyBytes / 1_000_000) + 1;

describe("fetches of servers behind a URL", () => {
  let server: Loopback;

  beforeAll(async () => {
    server = await startLoopback((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://host");
      if (pathname === "/hops") {
        const left = Number(searchParams.get("left"));
        const location = left > 1 ? `/hops?left=${left - 1}` : "/end";
        return response.writeHead(302, { location }).end();
      }
      if (pathname === "/end") return response.end("The end.");
      response.setHeader("content-type", "text/event-stream");
      for (let count = 0; count < COUNT; count++) {
        response.write(`data: ${MEGABYTE}\n${pathname === "/events" ? "\r\n" : ""}`);
      }
      response.end("\n");
    });
  });

  afterAll(() => server.down());

  const get = async (path: string) => {
    const response = await upstreamFetch(`${server.url}${path}`, { method: "GET" });
    let chars = 0;
    for await (const chunk of response.body ?? []) chars += chunk.length;
    return chars;
  };

  it(
    "let an open stream send more than an answer may have, in several messages",
    slow,
    async () => {
      expect(await get("/events")).toBeGreaterThan(maxBodyBytes);
    },
  );

  it("end such a stream at a single message that is too long", slow, async () => {
    await expect(get("/one")).rejects.toThrow(`longer than ${maxBodyBytes} bytes`);
  });

  it("follow a limited number of redirects", async () => {
    expect(await get(`/hops?left=${maxTries}`)).toBe("The end.".length);
    await expect(get(`/hops?left=${maxTries + 1}`)).rejects.toThrow("redirects more than");
  });

  it("follow no redirect to another origin, because headers hold keys", async () => {
    const location = "https://other.example/mcp";
    const answer = async () => new Response(null, { status: 307, headers: { location } });
    const sent = vi.fn<typeof fetch>(answer);
    vi.stubGlobal("fetch", sent);
    onTestFinished(() => void vi.unstubAllGlobals());
    await expect(upstreamFetch("https://one.example/mcp")).rejects.toThrow("another origin");
    expect(sent).toHaveBeenCalledTimes(1);
  });

  it("follow no redirect that turns a POST into a GET", async () => {
    const post = upstreamFetch(`${server.url}/hops?left=1`, { method: "POST", body: "{}" });
    await expect(post).rejects.toThrow(/redirect \(30\d\) cannot be followed/u);
  });
});
