import { expect, it } from "vitest";
import { parsedJson } from "../../../src/value/json.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { RawServer } from "../../../test/support/raw-server.ts";

it("keeps digits of structured content without a text, and of arguments, to the server and to the client", async () => {
  const inputs: string[] = [];
  const ids = Array.from({ length: 100 }, (_, index) => `{"id":1234567890123456${100 + index}}`);
  const structuredContent = parsedJson(`{"rows":[${ids.join()}],"first":1234567890123456789}`);
  const raw = new RawServer({
    "tools/list": () => ({ tools: [{ name: "act", inputSchema: { type: "object" } }] }),
    "tools/call": ({ arguments: input }) => {
      inputs.push(JSON.stringify(input));
      return { content: [], structuredContent };
    },
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
