import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { TextsExpander } from "../../src/reference/expand-texts.ts";
import type { Lookup } from "../../src/reference/lookup.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import { slow } from "../support/slow.ts";

type Options = ConstructorParameters<typeof TextsExpander>[1];

function expanding(options: Partial<Options> = {}, lookup = lookupIn({ n: 7, words: "ab" })) {
  const emitted: string[] = [];
  const emit = (id: string, text: string) => void emitted.push(`${id}:${text}`);
  const texts = new TextsExpander(lookup, { emit, ...options });
  const pass = (type: string, id?: string) =>
    texts.pass({ type, ...(id === undefined ? {} : { id }) }, () => void emitted.push(type));
  const merged = () => emitted.reduce<readonly string[]>(withMerged, []);
  return { texts, pass, emitted, merged };
}

/** Adds a slice to that before it if both are of one text. */
function withMerged(all: readonly string[], slice: string): readonly string[] {
  const last = all.at(-1);
  const isSame = slice[1] === ":" && last?.startsWith(slice.slice(0, 2)) === true;
  return isSame ? [...all.slice(0, -1), `${last}${slice.slice(2)}`] : [...all, slice];
}

describe("the texts of a response", () => {
  it("are expanded each, in order, with the other parts after the held text", async () => {
    const { texts, pass, merged } = expanding();
    await pass("text-start", "a");
    await pass("text-start", "b");
    await texts.write("a", "It is $");
    await texts.write("b", "$wor");
    await texts.write("a", "n");
    await pass("tool-call");
    await pass("text-end", "a");
    await texts.write("b", "ds");
    await pass("text-end", "b");
    expect(merged()).toEqual([
      "text-start",
      "text-start",
      "a:It is 7",
      "b:$wor",
      "tool-call",
      "text-end",
      "b:ds",
      "text-end",
    ]);
  });

  it("pass other parts at once if no text is open", () => {
    const { pass, emitted } = expanding();
    for (const type of ["tool-call", "finish"]) expect(pass(type)).toBeUndefined();
    expect(emitted).toEqual(["tool-call", "finish"]);
  });

  it("share the URL that one of them opens", async () => {
    const { texts, pass, merged } = expanding();
    await pass("text-start", "a");
    await texts.write("a", "https://a.example/");
    await pass("text-end", "a");
    await pass("text-start", "b");
    await texts.write("b", "$n $n ");
    await pass("text-end", "b");
    expect(merged()).toContain("b:$n 7 ");
  });

  it("share a bound", slow, async () => {
    const half = "x".repeat(limits.maxInsertedChars / 2 + 1);
    const { texts, pass, emitted } = expanding({}, lookupIn({ half }));
    for (const id of ["a", "b"]) {
      await pass("text-start", id);
      await texts.write(id, "$half ");
      await pass("text-end", id);
    }
    expect(emitted.filter((text) => text.startsWith("b:")).join("")).toContain("$half");
    expect(emitted.filter((text) => text.startsWith("a:")).join("")).not.toContain("$half");
  });

  it("report each value, with its text's id", async () => {
    const placed: unknown[] = [];
    const found: Lookup = () => ({ found: true, value: 7, name: "stored", version: 2 });
    const { texts, pass } = expanding({ onPlaced: (...given) => void placed.push(given) }, found);
    await pass("text-start", "a");
    await texts.write("a", "$n.");
    await texts.flush();
    const origin = { answer: { name: "stored", version: 2 } };
    expect(placed).toMatchObject([["a", { source: "$n", text: "7", ...origin }]]);
  });

  it("drop what is held when they end or restart", async () => {
    const { texts, pass, merged } = expanding();
    await pass("text-start", "a");
    await texts.write("a", "b $");
    texts.endAll();
    await texts.flush();
    await texts.write("a", "n");
    await pass("text-start", "a");
    texts.restart(["See ", "https://a.example/"]);
    await texts.write("a", "lost");
    await pass("text-start", "b");
    await texts.write("b", "$n $n ");
    texts.restart([]);
    await pass("text-start", "c");
    await texts.write("c", "$n ");
    const start = "text-start";
    expect(merged()).toEqual([start, "a:b ", start, start, "b:$n 7 ", start, "c:7 "]);
  });
});
