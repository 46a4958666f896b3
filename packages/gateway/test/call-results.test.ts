import { expect, it } from "vitest";
import { CallResults } from "../src/call-result.ts";
import type { OfferedTool } from "../src/offered-items.ts";
import { MemoryStatistics } from "../src/gateway-state.ts";
import type { Ready, Saved } from "../../../src/tool/wrapped-tool.ts";
import type { Json } from "../../../src/value/json.ts";

it.each<[string, readonly (Json | Uint8Array)[], number]>([
  ["a text with two umlauts", ["üaü"], 2],
  ["texts in a list in a list", [["ü", ["€"]]], 3],
  ["keys and texts of an object", [{ ü: { a: "€" } }], 3],
  ["bytes", [new Uint8Array([195, 188])], 0],
])("a call counts the bytes that were passed by reference: %s", (_what, values, more) => {
  const statistics = new MemoryStatistics();
  const offered = { definition: { name: "take" } } as OfferedTool;
  const saved = { output: {}, info: undefined } as unknown as Saved;
  const ready = {
    references: { authoredChars: 7, resolvedChars: 100, values },
  } as unknown as Ready;
  new CallResults(statistics).saved(offered, { saved, ready, received: { content: [] } });
  expect(statistics.read()).toMatchObject({ referenceCharacters: 7, bytesByReference: 100 + more });
});
