import { beforeAll, expect, it } from "vitest";
import { maxReasonChars } from "../../src/limits.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { Json } from "../../src/value/json.ts";
import { callTool } from "../support/runtime-tool-calls.ts";

const LONG = "x".repeat(100_000);

const store = new MemoryStore();

beforeAll(async () => {
  await store.save({ name: "text", value: LONG });
  await store.save({ name: "record", value: { [LONG]: { [LONG]: LONG } } });
});

const edit = (name: string, ...edits: Json[]): [string, Json] => ["edit_variable", { name, edits }];

it.each<[what: string, [tool: string, input: Json]]>([
  ["a name", ["read_variable", { name: LONG }]],
  ["a name that a reference begins", ["read_variable", { name: `$${LONG}` }]],
  ["a key", ["read_variable", { name: `$record.${LONG}y` }]],
  ["a key beside a long one", ["read_variable", { name: "$record.y" }]],
  ["a key below a long one", ["read_variable", { name: `$record[*].y` }]],
  ["a path", ["read_variable", { name: "$record", path: `[${LONG}` }]],
  ["a search", ["search_variable", { name: "$text", query: LONG }]],
  ["a text to find", edit("$text", { find: `${LONG}y`, replace: "" })],
  ["a text that is found often", edit("$text", { find: LONG.slice(0, 40_000), replace: "" })],
  ["an edit's key", edit("$text", { [LONG]: 1 })],
  ["a pointer", edit("$record", { op: "remove", path: LONG })],
  ["a pointer to nothing", edit("$record", { op: "remove", path: `/${LONG}y` })],
  ["a pointer beside a long key", edit("$record", { op: "remove", path: "/y" })],
  ["a test", edit("$record", { op: "test", path: `/${LONG}`, value: 1 })],
  ["a pointer into itself", edit("$record", { op: "move", from: `/${LONG}`, path: `/${LONG}/y` })],
  ["a name to write", ["set_variable", { name: LONG, value: 1 }]],
  ["a place to write", ["set_variable", { name: `record.${LONG}.a.b`, value: 1 }]],
  ["a mode", ["set_variable", { name: "record", value: 1, mode: LONG }]],
  ["a name to delete", ["delete_variable", { name: LONG }]],
])("an error quotes at most a line: %s", async (_, [tool, input]) => {
  const { ran } = await callTool(tool, input, { store, inRun: false }).catch((error: Error) => ({
    ran: { kind: "failed", message: error.message },
  }));
  expect(ran.kind).toBe("failed");
  expect(JSON.stringify(ran).length).toBeLessThan(2 * maxReasonChars);
});
