import { expect, it } from "vitest";
import { savedValue, textOf } from "../src/json-text.ts";
import type { Content } from "../../../src/store/bytes/content.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { parsedJson } from "../../../src/value/json.ts";
import { type Sending, startWireServer } from "../../../test/support/wire-server.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { toolServer } from "../../../test/support/raw-server.ts";

it("the text of a server's JSON is kept beside structured content that has all digits", async () => {
  const store = new MemoryStore();
  const text = '{ "id": 1234567890123456789 }';
  const structuredContent = parsedJson(text) as object;
  const value = savedValue({ content: [{ type: "text", text }], structuredContent });
  await store.save({ name: "a", value: value as Content });
  expect(await textOf("a", (await store.read("a")) ?? null, store)).toBe(text);
});

it("inlineChars applies to a server, can be overridden for its tools, and is exact to the character", async () => {
  const texts = { a: "x".repeat(20), b: "x".repeat(21), short_a: "x", long_a: "x".repeat(1_000) };
  const answerWith = (text: string) => ({ content: [{ type: "text", text }] });
  const raw = toolServer(Object.keys(texts), ({ name }) => answerWith(texts[name as "a"]));
  const plain = toolServer(["other"], () => answerWith("x".repeat(21)));
  const tools = { "short_*": { inlineChars: 0 }, "long_*": { inlineChars: 1_000 } };
  const { call } = await startGateway([
    { name: "raw", make: () => raw, rules: { inlineChars: 20, tools } },
    { name: "plain", make: () => plain },
  ]);
  const isHandle = async (name: string) =>
    JSON.stringify((await call(name)).content).includes("Kept as $");
  const names = ["a", "b", "short_a", "long_a", "other"];
  const handles = await Promise.all(names.map(async (name) => [name, await isHandle(name)]));
  expect(Object.fromEntries(handles)).toEqual({
    a: false,
    b: true,
    short_a: true,
    long_a: false,
    other: false,
  });
});

it("keeps digits of structured content without a text, and of arguments, to the server and to the client", async () => {
  const inputs: string[] = [];
  const ids = Array.from({ length: 100 }, (_, index) => `{"id":1234567890123456${100 + index}}`);
  const structuredContent = parsedJson(`{"rows":[${ids.join()}],"first":1234567890123456789}`);
  const raw = toolServer(["act"], ({ arguments: input }) => {
    inputs.push(JSON.stringify(input));
    return { content: [], structuredContent };
  });
  const { call, sent } = await startGateway([
    { name: "raw", make: () => raw, rules: { inlineChars: 10_000 } },
  ]);
  await call("act", { a: parsedJson("1234567890123456789") });
  expect(JSON.stringify(sent.at(-1))).toContain(JSON.stringify(structuredContent));
  await call("act", { a: "$act_1.first", b: "$act_1.rows[99]" });
  expect(inputs).toEqual([
    '{"a":1234567890123456789}',
    '{"a":1234567890123456789,"b":{"id":1234567890123456199}}',
  ]);
  const groups = await call("query_variables", {
    sql: "SELECT count(DISTINCT r.value->>'id') AS ids FROM act_1 a, json_each(a.value) r WHERE a.key = 'rows'",
  });
  expect(JSON.stringify(groups)).toContain('[{\\"ids\\":100}]');
});

// JSON called a stream: envoyproxy/ai-gateway#2218.
it.each<Sending>(["JSON", "JSON called a stream", "a stream", "a stream with ids", "SSE"])(
  "keeps digits of structured content and _meta that a server behind a URL sends as %s",
  async (sending) => {
    // Longer than what a connection passes on at once.
    const value = `{"id":1234567890123456789,"far":1e400,"text":"${"x".repeat(400_000)}"}`;
    const structuredContent = parsedJson(value);
    const _meta = parsedJson('{"shop/id":1234567890123456781}') as object;
    const result = { content: [], structuredContent, _meta };
    const server = await startWireServer(sending, () => ({ result }));
    const rules = { inlineChars: 1_000_000 };
    const { call, sent, gateway } = await startGateway([{ ...server.behind, rules }]);
    try {
      await call("act");
      expect(JSON.stringify(sent.at(-1))).toContain(`"structuredContent":${value}`);
      expect(JSON.stringify(sent.at(-1))).toContain('"shop/id":1234567890123456781');
      expect(JSON.stringify(sent.at(-1))).not.toContain("byref/digits");
      await call("look", { id: "$act_1.id" });
      expect(server.texts.at(-1)).toContain('"arguments":{"id":1234567890123456789}');
    } finally {
      await gateway.close();
      await server.down();
    }
  },
);
