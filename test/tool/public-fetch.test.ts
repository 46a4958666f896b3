import type { RequestListener } from "node:http";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { PublicKeys } from "../../src/edge/auth/jwt-authenticator.ts";
import * as limits from "../../src/limits.ts";
import { mcpFetch } from "../../src/tool/mcp/mcp-fetch.ts";
import { publicFetch, type PublicFetchOptions } from "../../src/tool/public-fetch.ts";
import { startLoopback } from "../support/loopback.ts";
import { privateUrls } from "../support/private-addresses.ts";
import { slow } from "../support/slow.ts";

afterEach(() => void vi.restoreAllMocks());

/** Starts a server on this machine and returns its URL, which is not public. */
async function serve(listener: RequestListener): Promise<string> {
  const { url, down } = await startLoopback(listener);
  onTestFinished(down);
  return url;
}

interface Asked {
  readonly url: string;
  readonly init: RequestInit;
}

/** Creates a network in which all names lead to the server, and which records the requests. */
function networkTo(server: string) {
  const asked: Asked[] = [];
  const send: PublicFetchOptions["fetch"] = (url, init) => {
    asked.push({ url, init });
    const { pathname, search } = new URL(url);
    return fetch(server + pathname + search, init);
  };
  return { asked, options: { fetch: send } };
}

/** Redirects to the URL in the query with the status in the query. */
const sendAway: RequestListener = (request, response) => {
  const { searchParams } = new URL(request.url ?? "", "http://x");
  const to = searchParams.get("to") ?? "";
  if (to === "") return response.end("here");
  response.statusCode = Number(searchParams.get("status") ?? 302);
  // A header cannot contain line breaks or characters other than ASCII.
  const location = to.replaceAll("\n", "").replaceAll(/[^ -~]/gu, encodeURIComponent);
  response.setHeader("location", location);
  return response.end();
};

const away = (to: string, status = 302) =>
  `https://public.example/?status=${status}&to=${encodeURIComponent(to)}`;

describe("a private address", () => {
  it.each(privateUrls)("is refused: %j", async (url) => {
    const send = vi.fn<NonNullable<PublicFetchOptions["fetch"]>>();
    const refused = await publicFetch(url, {}, { fetch: send }).catch((error: unknown) => error);
    expect(send).not.toHaveBeenCalled();
    expect(refused).toMatchObject({ code: "address_not_allowed" });
  });

  it("is not reached by a redirect either", async () => {
    const { asked, options } = networkTo(await serve(sendAway));
    for (const [index, url] of privateUrls.entries()) {
      const status = [301, 302, 303, 307, 308][index % 5];
      await expect(publicFetch(away(url, status), {}, options)).rejects.toMatchObject({
        code: "address_not_allowed",
      });
    }
    const reached = asked.filter(({ url }) => !url.startsWith("https://public.example/"));
    expect(reached).toEqual([]);
  });

  it("is not reached by an MCP server's redirect", slow, async () => {
    const server = await serve(sendAway);
    const asked = vi.spyOn(globalThis, "fetch");
    for (const url of privateUrls) {
      for (const status of [302, 307]) {
        const target = `${server}/?status=${status}&to=${encodeURIComponent(url)}`;
        // A relative URL is a path on the server itself.
        await mcpFetch(target, { method: "POST", body: "{}" }).catch(() => undefined);
      }
    }
    const reached = asked.mock.calls.filter(([url]) => !String(url).startsWith(`${server}/`));
    expect(reached).toEqual([]);
    expect(asked.mock.calls.length).toBeGreaterThanOrEqual(2 * privateUrls.length);
  });

  it("is not reached by a key issuer's redirect", async () => {
    const server = await serve(sendAway);
    const asked = vi.spyOn(globalThis, "fetch");
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    for (const url of privateUrls) {
      const keys = new PublicKeys(`${server}/?to=${encodeURIComponent(url)}`);
      await expect(keys.find({ alg: "RS256", kid: "any" })).rejects.toMatchObject({ code: "keys_unavailable" });
    }
    const reached = asked.mock.calls.filter(([url]) => !String(url).startsWith(`${server}/`));
    expect(reached).toEqual([]);
    expect(asked).toHaveBeenCalledTimes(privateUrls.length);
  });
});

describe("a public address", () => {
  it.each([
    "http://example.com",
    "https://example.com/a?b#c",
    "https://example.com:443/",
    "http://example.com:80/",
    "https://sub.example.co.uk./x",
    "https://münchen.example/",
    "http://1.1.1.1/",
    "http://172.32.0.1/",
    "http://172.15.255.255/",
    "http://100.128.0.1/",
    "http://169.253.0.1/",
    "http://192.167.255.255/",
    "http://223.255.255.255/",
    "http://[2606:4700:4700::1111]/",
    "http://[2001:4860:4860::8888]/",
    "http://[2a00::1]/",
    "https://localhost.example.com/",
    "https://internal.example.com/",
    "https://10.example.com/",
    "https://example.com/http://127.0.0.1/",
    "https://example.com/?@127.0.0.1",
  ])("is fetched unchanged: %s", async (url) => {
    const send = vi.fn(async (_url: string, _init: RequestInit) => new Response("here"));
    const response = await publicFetch(url, {}, { fetch: send });
    expect(await response.text()).toBe("here");
    expect(send.mock.calls[0]?.[0]).toBe(new URL(url).href);
  });

  it("may have other ports if the tool's author allows them", async () => {
    const send = async () => new Response("here");
    const options = { fetch: send, ports: [8443] };
    expect((await publicFetch("https://example.com:8443/", {}, options)).status).toBe(200);
    await expect(publicFetch("https://127.0.0.1:8443/", {}, options)).rejects.toMatchObject({
      code: "address_not_allowed",
    });
  });
});

describe("a redirect", () => {
  const headers = {
    authorization: "Bearer key",
    cookie: "session=1",
    "x-api-key": "key",
    accept: "text/html",
    "content-type": "text/plain",
  };
  const namesOf = ({ init }: Asked) => [...new Headers(init.headers).keys()];

  it("is followed with all headers within an origin, but without credentials to another one", async () => {
    const { asked, options } = networkTo(await serve(sendAway));
    const other = "https://other.example/";
    const first = away(away(other, 307), 307);
    const response = await publicFetch(first, { method: "PUT", body: "x", headers }, options);
    expect(await response.text()).toBe("here");
    expect(asked.map(({ url }) => new URL(url).host)).toEqual([
      "public.example",
      "public.example",
      "other.example",
    ]);
    expect(asked.map(({ init }) => [init.method, init.body])).toEqual(
      asked.map(() => ["PUT", "x"]),
    );
    expect(asked.map(namesOf)).toEqual([
      Object.keys(headers).sort(),
      Object.keys(headers).sort(),
      ["accept", "content-type"],
    ]);
  });

  it("sends no credentials to another scheme or port of the host", async () => {
    const { asked, options } = networkTo(await serve(sendAway));
    await publicFetch(away("http://public.example/"), { headers }, options);
    expect(asked.map(({ init }) => new Headers(init.headers).has("authorization"))).toEqual([
      true,
      false,
    ]);
  });

  it.each([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "PUT", "GET"],
    [303, "HEAD", "HEAD"],
    [302, "PUT", "PUT"],
    [307, "POST", "POST"],
    [308, "DELETE", "DELETE"],
  ])("with status %i turns %s into %s", async (status, method, expected) => {
    const { asked, options } = networkTo(await serve(sendAway));
    const hasBody = ["POST", "PUT"].includes(method);
    const init = { method, headers, ...(hasBody ? { body: "x" } : {}) };
    await publicFetch(away("/", status), init, options);
    const second = asked[1];
    expect(second?.init.method).toBe(expected);
    const isKept = hasBody && expected !== "GET";
    expect(second?.init.body).toBe(isKept ? "x" : undefined);
    expect(second !== undefined && namesOf(second).includes("content-type")).toBe(
      expected !== "GET",
    );
  });

  it("is followed at most five times", async () => {
    const { asked, options } = networkTo(await serve(sendAway));
    let url = "https://public.example/";
    for (let hop = 0; hop < 5; hop++) url = away(url);
    expect((await publicFetch(url, {}, options)).status).toBe(200);
    expect(asked).toHaveLength(6);
    await expect(publicFetch(away(url), {}, options)).rejects.toMatchObject({
      code: "limit_exceeded",
    });
    expect(asked).toHaveLength(12);
  });

  it("is not followed if the body was a stream", async () => {
    const { asked, options } = networkTo(await serve(sendAway));
    const body = new Blob(["x"]).stream();
    const init = { method: "POST", body, duplex: "half" } as RequestInit;
    await expect(publicFetch(away("/", 307), init, options)).rejects.toMatchObject({
      code: "tool_failed",
    });
    expect(asked).toHaveLength(1);
  });
});

describe("an answer", () => {
  const get = async (listener: RequestListener, options: PublicFetchOptions = {}) => {
    const network = networkTo(await serve(listener));
    return publicFetch("https://public.example/", {}, { ...network.options, ...options });
  };

  it("is passed on unchanged, with its status and headers", async () => {
    const response = await get((_, answer) => {
      answer.writeHead(418, { "content-type": "text/x", "x-own": "1" });
      answer.end("short and stout");
    });
    expect([response.status, response.headers.get("x-own")]).toEqual([418, "1"]);
    expect(await response.text()).toBe("short and stout");
  });

  it("may have no body", async () => {
    const response = await get((_, answer) => void answer.writeHead(204).end());
    expect([response.status, await response.text()]).toEqual([204, ""]);
  });

  it("is refused at once if its content-length is too long", async () => {
    const length = limits.maxFetchedBytes + 1;
    const asked = get((_, answer) => {
      answer.writeHead(200, { "content-length": length });
      answer.write("x");
    });
    await expect(asked).rejects.toMatchObject({ code: "limit_exceeded" });
  });

  it("is cut off if it is too long without a content-length", async () => {
    let isClosed = false;
    const response = await get(
      (_, answer) => {
        const send = () => void (answer.write("x".repeat(10_000)) ? setImmediate(send) : undefined);
        answer.on("drain", send).on("close", () => (isClosed = true));
        send();
      },
      { maxBytes: 100_000 },
    );
    await expect(response.text()).rejects.toMatchObject({ code: "limit_exceeded" });
    await vi.waitFor(() => expect(isClosed).toBe(true));
  });

  it("times out if it does not begin or does not end", slow, async () => {
    const timeMs = 50;
    await expect(get(() => undefined, { timeMs })).rejects.toMatchObject({ code: "tool_timeout" });
    const slow = get(
      (_, answer) => {
        answer.writeHead(200);
        answer.write("x");
      },
      { timeMs: 500 },
    );
    await expect(slow.then((response) => response.text())).rejects.toMatchObject({
      code: "tool_timeout",
    });
  });

  it("ends with the caller's signal and its reason", async () => {
    const stop = new AbortController();
    const { options } = networkTo(await serve(() => stop.abort(new Error("stopped"))));
    const asked = publicFetch("https://public.example/", { signal: stop.signal }, options);
    await expect(asked).rejects.toThrow("stopped");
  });
});
