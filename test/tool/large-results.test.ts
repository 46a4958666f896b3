import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { slow } from "../support/slow.ts";
import { returning, runOnce } from "../support/wrapped.ts";

it("saves a text that is longer than JSON may be", slow, async () => {
  const text = "0123456789".repeat(limits.maxJsonBytes / 10 + 1);
  const { saved, store } = await runOnce(
    returning(() => text),
    {},
  );
  expect(saved?.info).toMatchObject({ type: "string", count: text.length });
  expect(saved?.output).toMatchObject({ try: ["$act_1[:500]"] });
  const end = await store.readPath("act_1", [{ from: -5 }]);
  expect(end).toMatchObject({ found: true, value: text.slice(-5) });
});

it("records in a Response are described by shape, count and existing paths", async () => {
  const lines = Array.from({ length: 20_000 }, (_, id) => `{"id":${id},"name":"row ${id}"}\n`);
  const headers = { "content-type": "application/x-ndjson" };
  const { saved, store } = await runOnce(
    returning(() => new Response(lines.join(""), { headers })),
    {},
  );
  expect(saved?.output).toMatchObject({
    type: "array",
    count: 20_000,
    shape: "{id: number, name: string}[]",
    try: ["$act_1[*].id: number[]", "$act_1[*].name: string[]", "$act_1[:10]"],
  });
  expect(await store.readPath("act_1", [{ index: 19_999 }])).toMatchObject({
    value: { id: 19_999 },
  });
});
