import { describe, expect, it, beforeEach, vi } from "vitest";
import type { ErrorCode } from "../../src/errors.ts";
import * as limits from "../../src/limits.ts";
import { call, json, messagesOf, namesIn, newId, problemIn, get, put } from "../support/edge.ts";
import { env } from "cloudflare:workers";
import { slow } from "../support/slow.ts";
import { blobsOf } from "../support/storage.ts";

// Megabytes take longer on a busy machine.
type Row = readonly [what: string, code: ErrorCode, route: string, init?: RequestInit];

const id = newId();
const C = "/conversations";
const M = `${C}/${id}/messages`;
const V = `${C}/${id}/variables`;
const CHAT = `POST ${C}`;
const SHORT = `POST ${M}`;

const text = (body: string, type: string): RequestInit => ({
  body,
  headers: { "content-type": type },
});
const bytes = (body: string): RequestInit => ({ body: new TextEncoder().encode(body) });
const rawBytes = (type: string, ...codes: readonly number[]): RequestInit => ({
  body: new Uint8Array(codes),
  headers: { "content-type": type },
});
const question = { role: "user", parts: [{ type: "text", text: "Hello" }] };
const chat = (more: object) => json({ id, messages: [question], ...more });
const parts = (...parts: readonly unknown[]) => json({ message: { role: "user", parts } });

const bodies: readonly Row[] = [
  ["broken JSON", "bad_json", CHAT, text('{"id": "x", ', "application/json")],
  ["broken JSON as a value", "bad_json", `PUT ${V}/a`, text("{a: 1}", "application/json")],
  ["NaN", "bad_json", `PUT ${V}/a`, text("NaN", "application/json")],
  ["an empty value", "bad_json", `PUT ${V}/a`, text("", "application/json")],
  ["an empty body", "bad_json", CHAT, text("", "application/json")],
  ["no body", "unsupported_media_type", CHAT],
  ["no content type", "unsupported_media_type", CHAT, bytes(JSON.stringify({ id }))],
  // Content types that a page may send to any site without a preflight request.
  ["a form's text", "unsupported_media_type", SHORT, text('{"message":"Hello"}', "text/plain")],
  ["no content type as a value", "unsupported_media_type", `PUT ${V}/a`, bytes("1")],
  ["broken NDJSON", "bad_json", `PUT ${V}/a`, text('{"a":1}\n{a:2}', "application/x-ndjson")],
  ["half a character", "bad_value", `PUT ${V}/a`, rawBytes("text/plain", 0x61, 0xc3)],
  [
    "half a character in JSON",
    "bad_json",
    `PUT ${V}/a`,
    rawBytes("application/json", 0x22, 0xc3, 0x22),
  ],
];

const shapes: readonly Row[] = [
  ["null", "bad_request", CHAT, json(null)],
  ["an empty object", "bad_request", CHAT, json({})],
  ["no id", "bad_request", CHAT, json({ messages: [question] })],
  ["no messages", "bad_request", CHAT, json({ id })],
  ["an object of messages", "bad_request", CHAT, chat({ messages: { 0: question, length: 1 } })],
  ["null as the message", "bad_request", CHAT, chat({ messages: [question, null] })],
  ["an answer as the last", "bad_request", CHAT, chat({ messages: [answer("assistant")] })],
  ["an answer, short", "bad_request", SHORT, json({ message: answer("assistant") })],
  ["an unknown trigger", "bad_request", CHAT, chat({ trigger: "resume" })],
  ["an agent of 129 characters", "bad_request", CHAT, chat({ agent: "x".repeat(129) })],
  ["a list as input", "bad_request", CHAT, chat({ input: [1] })],
  ["an empty text", "bad_request", SHORT, json({ message: "" })],
  ["a blank text", "bad_request", SHORT, json({ message: "   " })],
  ["an invisible text", "bad_request", SHORT, json({ message: "\u200b \u2060" })],
  ["an empty text part", "bad_request", SHORT, parts({ type: "text", text: "" })],
  ["no parts", "bad_request", SHORT, parts()],
  ["a part without text", "bad_request", SHORT, parts({ type: "text" })],
  [
    "a tool's part",
    "bad_value",
    SHORT,
    parts({ type: "tool-get_weather", state: "output-available" }),
  ],
  ["a data part", "bad_value", SHORT, parts({ type: "data-x", data: 1 })],
];

const ids: readonly Row[] = [
  ..."a/b|a b|é|a\u0000b|..|.||a:b|a%|~|a\\b|а|a\n|*"
    .split("|")
    .map((bad): Row => [`the id ${JSON.stringify(bad)}`, "bad_request", CHAT, chat({ id: bad })]),
  ["an id of 129", "bad_request", CHAT, chat({ id: "x".repeat(129) })],
  ["an id of 129 in the path", "bad_request", `GET ${C}/${"x".repeat(129)}/messages`],
  ..."%2F %20 %C3%A9 %00 %zz %25 é a%2Fb a%5Cb %EF%BC%8E%EF%BC%8E"
    .split(" ")
    .map((bad): Row => [`the id ${bad} in the path`, "bad_request", `GET ${C}/${bad}/messages`]),
  ["a bad id, asked", "bad_request", `POST ${C}/a%20b/messages`, json({ message: "Hello" })],
  ["a bad id, value", "bad_request", `GET ${C}/a%20b/variables/a`],
  // The URL parser resolves these segments before the Worker sees them.
  ["..", "not_found", `GET ${C}/../messages`],
  ["%2e%2e", "not_found", `GET ${C}/%2e%2e/messages`],
  // The resolved path of this one names a conversation.
  ["%2E", "conversation_not_found", `DELETE ${C}/%2E/variables`],
];

const variables: readonly Row[] = [
  ..."7up a-b a.b %24a %C3%A9 a%20b a%00 %zz a%2Fb"
    .split(" ")
    .map((name): Row => [`the name ${name}`, "bad_name", `PUT ${V}/${name}`, json(1)]),
  ["a name of 65", "bad_name", `PUT ${V}/${"x".repeat(65)}`, json(1)],
  // Invalid parameters by schema: test/edge-node/endpoints.test.ts; etags: request-headers.test.ts.
  ["a ttl of 0", "bad_request", `PUT ${V}/a?ttl=0`, json(1)],
  ["an etag without quotes", "bad_request", `PUT ${V}/a`, json(1, { "if-match": "a" })],
  ["an empty limit", "bad_request", `GET ${V}?limit=`],
  ..."a $v.a v.a .a. .7 [ [a] [1.5] [01] ['a] .a[*]x .. .a%20b .%C3%A9 [0]["
    .split(" ")
    .map((path): Row => [`the path ${path}`, "bad_path", `GET ${V}/v?path=${path}`]),
  ["offset of an object", "bad_request", `GET ${V}/v?offset=1`],
  ["a title that is too long", "bad_request", `PATCH ${C}/${id}`, json({ title: "x".repeat(201) })],
  ["more than a title", "bad_request", `PATCH ${C}/${id}`, json({ title: "t", id: "x" })],
  ["a name that never was", "variable_not_found", `GET ${V}/nothing`],
  ["a name that cannot be", "variable_not_found", `GET ${V}/a-b/info`],
  ["a name that cannot be, deleted", "variable_not_found", `DELETE ${V}/a-b`],
  ["__proto__", "variable_not_found", `GET ${V}/__proto__`],
];

const unknown =
  "GET /nothing|POST /nothing|GET /Health|GET //health|POST /health|PATCH /agents|GET /agents/x|" +
  "GET /conversations/x/nothing|GET /conversations//messages|PUT /conversations/x/messages|" +
  "GET /conversations/x/variables/a/b/c|POST /conversations/x/variables/a|TRACE /conversations";
const routes = unknown.split("|").map((route): Row => [route, "not_found", route]);

describe.each([
  ["a body", bodies],
  ["a shape", shapes],
  ["an id", ids],
  ["a variable", variables],
  ["a route", routes],
])("%s that is wrong", (_, rows) => {
  const cases = rows.map((row) => ({ title: `${row[0]}: ${row[1]}`, row }));

  it.each(cases)("$title", async ({ row: [, code, route, init = {}] }) => {
    await call("PUT", `${V}/v`, json({ a: [1] }));
    const space = route.indexOf(" ");
    const response = await call(route.slice(0, space), route.slice(space + 1), init);
    const { detail } = await problemIn(response, code);
    expect(detail.length).toBeLessThan(1_000);
    // The request changed nothing.
    expect(await messagesOf(id)).toEqual({ messages: [] });
    expect(await namesIn(id)).toEqual(["v"]);
  });
});

describe("an endpoint that receives too much", () => {
  const message = (message: string) => call("POST", M, json({ message }, { accept: "text/plain" }));
  const big = (size: number) => "x".repeat(size);

  it.each([
    ["one byte", "x".repeat(limits.maxMessageBytes)],
    ["two bytes", "é".repeat(limits.maxMessageBytes / 2)],
  ])("refuses a message over 8 MiB, in characters of %s", async (_, long) => {
    const { maxMessageBytes: maximum } = limits;
    const about = { limit: "maxMessageBytes", maximum };
    const init = chat({ messages: [{ ...question, parts: [{ type: "text", text: long }] }] });
    for (const response of [await message(long), await call("POST", C, init)]) {
      expect(await problemIn(response, "limit_exceeded")).toMatchObject(about);
    }
    expect(await messagesOf(id)).toEqual({ messages: [] });
  });

  it("drops a long history in front of a short message, as stock clients send it", async () => {
    const past = { ...question, parts: [{ type: "text", text: big(9_000_000) }] };
    const own = newId();
    const response = await call("POST", C, json({ id: own, messages: [past, past, question] }));
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"type":"finish"');
    expect((await messagesOf(own)).messages).toHaveLength(2);
  });

  it("refuses a body over 32 MiB, with or without a Content-Length", async () => {
    const piece = new Uint8Array(1_048_576).fill(32);
    const headers = { "content-type": "application/json" };
    const told = { ...headers, "content-length": String(limits.maxBodyBytes + 1) };
    for (const path of [C, M]) {
      let pulls = 0;
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => void (pulls++, controller.enqueue(piece.slice())),
      });
      // An endless body is not read much further than it may be long.
      await problemIn(await call("POST", path, { body, headers }), "body_too_large");
      expect(pulls).toBeLessThan(limits.maxBodyBytes / piece.length + 5);
      await problemIn(await call("POST", path, { body: "{}", headers: told }), "body_too_large");
    }
    expect(await messagesOf(id)).toEqual({ messages: [] });
  });
});

function answer(role: string) {
  return { ...question, role };
}

describe("slow bodies", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
  const utf8 = new TextEncoder();

  /** Creates a body whose pieces the test sends. */
  function slowBody() {
    let isCancelled = false;
    let push: (text: string) => void = () => undefined;
    let end: () => void = () => undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        push = (text) => controller.enqueue(utf8.encode(text));
        end = () => controller.close();
      },
      cancel() {
        isCancelled = true;
      },
    });
    return { body, push, end, isCancelled: () => isCancelled };
  }

  /** Waits until everything is done that does not wait for a timer. */
  async function settle(): Promise<void> {
    for (let round = 0; round < 20; round++) await new Promise((done) => setImmediate(done));
  }

  async function pass(milliseconds: number): Promise<void> {
    await settle();
    vi.advanceTimersByTime(milliseconds);
    await settle();
  }

  const text = "x".repeat(2_000);
  const question = { role: "user", parts: [{ type: "text", text }] };

  /** All routes that read a body. Each body is longer than what may arrive at once. */
  const ways = [
    ["POST", "", "application/json", { id: "c", messages: [question] }],
    ["POST", "/c/messages", "application/json", { message: text }],
    ["PUT", "/c/variables/v", "application/json", text],
    ["PUT", "/c/variables/v", "text/plain", text],
    ["PUT", "/c/variables/v", "application/x-ndjson", `1\n${text}\n`],
    ["PUT", "/c/variables/v", "image/png", text.repeat(100)],
    ["PUT", "/c/variables/s?mode=append", "application/json", [text]],
    ["POST", "/import", "application/octet-stream", text],
    ["POST", "/import?part=1&of=2", "application/octet-stream", text],
    ["POST", "/c/plans", "application/json", { calls: [], a: text }],
    ["POST", "/c/interpolate", "application/json", { text }],
  ] as const;

  it.each(ways)("a body that stops times out, and blocks nobody: %s %s, %s", async (...way) => {
    const id = newId();
    await put(id, "s", []);
    const objects = (await env.BLOBS.list()).objects.length;
    const [method, path, type, value] = way;
    const whole = typeof value === "string" ? value : JSON.stringify(value);
    const { body, push, isCancelled } = slowBody();
    const at = `${C}${path.replace("/c/", `/${id}/`)}`;
    const answer = call(method, at, { body, headers: { "content-type": type } });
    push(whole.slice(0, whole.length / 2));
    await pass(limits.silenceMs - 1);

    await put(id, "meanwhile", 1);
    expect(await (await get(id, "meanwhile")).json()).toBe(1);
    const asked = json({ message: "Hello" }, { accept: "text/plain" });
    const said = await call("POST", `/conversations/${id}/messages`, asked);
    expect(said.status).toBe(200);
    await said.text();

    await pass(1);
    const problem = await problemIn(await answer, "body_timeout");
    expect(problem.detail).toContain("30 s");
    expect(isCancelled()).toBe(true);
    expect(await namesIn(id)).toEqual(["s", "meanwhile"]);
    expect((await messagesOf(id)).messages).toHaveLength(2);
    expect(await blobsOf(id)).toEqual([]);
    expect((await env.BLOBS.list()).objects).toHaveLength(objects);
  });

  it("a body that nobody reads is cancelled, so that it blocks nobody", async () => {
    const { body, isCancelled } = slowBody();
    await problemIn(await call("POST", "/nothing", { body }), "not_found");
    await settle();
    expect(isCancelled()).toBe(true);
  });

  it("a body that trickles byte by byte times out", slow, async () => {
    const id = newId();
    const { body, push } = slowBody();
    const headers = { "content-type": "text/plain" };
    const answer = call("PUT", `/conversations/${id}/variables/v`, { body, headers });
    const ended: number[] = [];
    void answer.finally(() => ended.push(Date.now()));
    const startMs = Date.now();
    while (ended.length === 0 && Date.now() - startMs < 10 * limits.silenceMs) {
      push("x");
      await pass(1_000);
    }
    expect(ended).toEqual([startMs + limits.silenceMs]);
    await problemIn(await answer, "body_timeout");
    expect(await namesIn(id)).toEqual([]);
  });

  it("a body that trickles is accepted while it makes progress", slow, async () => {
    const id = newId();
    const { body, push, end } = slowBody();
    const headers = { "content-type": "text/plain" };
    const answer = call("PUT", `/conversations/${id}/variables/v`, { body, headers });
    for (let piece = 0; piece < 20; piece++) {
      push("x".repeat(limits.minBodyBytes));
      await pass(limits.silenceMs - 1);
    }
    push("the end");
    end();
    expect((await answer).status).toBe(201);
    const value = await (await get(id, "v")).text();
    expect(value).toBe(`${"x".repeat(20 * limits.minBodyBytes)}the end`);
  });
});
