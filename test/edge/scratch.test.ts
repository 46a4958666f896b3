import { runInDurableObject, evictDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { call, callWith } from "../support/edge.ts";
import worker from "../../src/index.ts";

const show = async (label: string, r: Promise<Response>) => {
  try { const x = await r; const t = await x.text(); console.log(label, x.status, x.headers.get("content-type"), t.slice(0, 600)); }
  catch (e) { console.log(label, "THROWN", String(e)); }
};
const json = (body: unknown, h: Record<string,string> = {}) => ({ body: typeof body === "string" ? body : JSON.stringify(body), headers: { "content-type": "application/json", ...h } });
it("probe", async () => {
  console.log(worker.routes.map((r) => `${r.method} ${r.path}`).join("\n"));
  await show("exports health", exports.default.fetch("http://localhost/health"));
  await show("exports noauth", exports.default.fetch("http://localhost/agents"));
  await show("short key", callWith({ AUTH: "bearer", API_KEYS: '{"shortsecret":"t"}' })("GET", "/agents"));
  await show("key non-string", callWith({ AUTH: "bearer", API_KEYS: '{"averylongsecretkey0123":5}' })("GET", "/agents"));
  await show("key notjson", callWith({ AUTH: "bearer", API_KEYS: 'secret{' })("GET", "/agents"));
  await show("bad auth", callWith({ AUTH: "secretsecret" })("GET", "/agents"));
  await show("bad url", callWith({ AUTH: "none", MODEL: "openai-compatible:x", MODEL_BASE_URL: "secret" })("GET", "/agents"));
  await show("bad model", callWith({ AUTH: "none", MODEL: "secret" })("GET", "/agents"));
  await show("no url", callWith({ AUTH: "none", MODEL: "openai-compatible:secret" })("GET", "/agents"));
  await show("turn sse", call("POST", "/conversations", json({ id: "c1", messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "Compare NYC and London" }] }] })));
  await show("turn text", call("POST", "/conversations/c1/messages", json({ message: "Weather in NYC?", input: { a: 1 } }, { accept: "text/plain" })));
  await show("turn json", call("POST", "/conversations/c1/messages", json({ message: "Weather in Rome?" }, { accept: "application/json" })));
  await show("get", call("GET", "/conversations/c1/messages"));
  await show("regen unknown", call("POST", "/conversations", json({ id: "c2", trigger: "regenerate-message", messages: [{}] })));
  await show("unknown before", call("GET", "/conversations/c1/messages?before=nope&limit=1"));
  for (const [m, p] of [["PATCH", "/health"], ["POST", "/health"], ["PUT", "/agents"], ["TRACE", "/conversations"], ["HEAD", "/health"], ["BREW", "/agents"], ["OPTIONS", "/conversations/x/variables/a"], ["PATCH", "/conversations/x/variables/a"], ["GET", "/conversations/%2e%2e/messages"], ["GET", "/conversations/%zz/messages"], ["GET", "/conversations/a%2Fb/messages"], ["GET", "/conversations/a%00b/messages"], ["GET", "/conversations//messages"], ["GET", "/conversations/é/messages"], ["GET", "/conversations/c1/variables/%zz"], ["GET","/conversations/c1/variables/a-b"], ["GET","/conversations/c1/variables/input?path=.a"], ["GET","/conversations/c1/variables/input?path=a"], ["GET","/conversations/c1/variables/input?path=.b"], ["GET","/conversations/c1/variables/nope?path=x"], ["GET","/conversations/c1/variables?last=1e1"], ["GET","/conversations/c1/variables?last="], ["GET","/conversations/c1/variables?names="], ["GET", "/conversations/c1/"], ["GET", "/agents/"], ["GET", "/health/"]] as const)
    await show(`${m} ${p}`, call(m, p));
  for (const body of ["[".repeat(100000) + "]".repeat(100000), "[".repeat(5000) + "]".repeat(5000), "[".repeat(1000) + "]".repeat(1000), "1e400", "12345678901234567890", '{"__proto__":{"a":1},"b":2}', "-0", '"\\ud800"', "  1  ", "null", '{"a":1,"a":2}', "\ufeff1"]) {
    await show(`PUT ${body.slice(0, 30)}${body.length}`, call("PUT", "/conversations/v/variables/a", json(body)));
    await show("GET", call("GET", "/conversations/v/variables/a"));
  }
  await show("deep message", call("POST", "/conversations/d/messages", json('{"message":"x","input":{"a":' + "[".repeat(20000) + "]".repeat(20000) + "}}")));
  await show("deep message2", call("POST", "/conversations/d/messages", json('{"message":"x","input":{"a":' + "[".repeat(1000) + "]".repeat(1000) + "}}")));
}, 60_000);
it("big", async () => {
  const t = (l: string) => console.log(l, Date.now());
  t("a");
  await show("8MiB+", call("POST", "/conversations/b/messages", json({ message: "x".repeat(8388608) })));
  t("b");
  await show("5M é", call("POST", "/conversations/b/messages", json({ message: "é".repeat(5_000_000) }, { accept: "text/plain" })));
  t("c");
  const big = new Uint8Array(33554433);
  await show("32MiB+", call("POST", "/conversations", { body: big, headers: { "content-type": "application/json" } }));
  const chunked = () => { let left = 33; return new ReadableStream({ pull(c) { if (left-- <= 0) return c.close(); c.enqueue(new Uint8Array(1048576)); } }); };
  await show("32MiB+ chunked", call("POST", "/conversations", { body: chunked(), headers: { "content-type": "application/json" } }));
  await show("32MiB+ chunked put", call("PUT", "/conversations/b/variables/a", { body: chunked(), headers: { "content-type": "text/plain" } }));
  await show("cl", call("POST", "/conversations", { body: "{}", headers: { "content-type": "application/json", "content-length": "33554433" } }));
  t("d");
  await show("put 16MiB+", call("PUT", "/conversations/b/variables/a", { body: "x".repeat(16777217), headers: { "content-type": "text/plain" } }));
  await show("put 16MiB", call("PUT", "/conversations/b/variables/a", { body: "x".repeat(16777216), headers: { "content-type": "text/plain" } }));
  t("e");
  await show("put 31MiB json", call("PUT", "/conversations/b/variables/a", json(JSON.stringify(["x".repeat(33554000)]))));
  await show("put 32MiB é json", call("PUT", "/conversations/b/variables/a", json("[" + "0,".repeat(8_000_000) + "0]")));
  t("f");
}, 60_000);
