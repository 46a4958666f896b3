import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { parsePath } from "../../src/reference/grammar.ts";
import { nearest } from "../../src/reference/near.ts";
import { wholeReference } from "../../src/reference/reference.ts";
import { dagger, pickSyntaxes, writerIn } from "../../src/reference/syntaxes.ts";

it("a text is a whole reference only without anything beside it", () => {
  const syntaxes = pickSyntaxes(["mustache", "dollar", "dagger", "target"]);
  const wholes = ["$a.b", "${a.b}", "{{a.b}}", "{{\ta.b  }}", "†a.b", "variable:a.b"];
  for (const source of wholes) {
    const reference = { name: "a", path: [{ key: "b" }] };
    expect(wholeReference(source, syntaxes)).toEqual({ source, reference });
    expect(wholeReference(`${source} `, syntaxes)).toBeUndefined();
    expect(wholeReference(` ${source}`, syntaxes)).toBeUndefined();
    expect(wholeReference(source, [])).toBeUndefined();
  }
  for (const other of ["", "$", "${a.b", "{{a.b}", "{{a.b} }", "{a.b}}", "variable:", "file:a"]) {
    expect(wholeReference(other, syntaxes)).toBeUndefined();
  }
});

describe("alternatives", () => {
  const alternatives = (text: string) => dagger.alternatives?.(text);

  it("contain nothing else", () => {
    const others =
      "†a#†a ||#|| †a#†a | †b#†a ++ †b#†a || b#†a || †9#†a || †b ## †a || †b#†a || †b, †c#xa || †b";
    for (const text of others.split("#")) expect(alternatives(text)).toBeUndefined();
  });
});

describe("a path", () => {
  const none =
    "a| .a|.|.9|.-|..|[|[]|[a]|[01]|[00]|[-0]|[+1]|[-]|[--1]|[1|[1x]|[ 0]|[1:x]|[1:2|[1:2:3]|[:01]|" +
    "[*|[**]|[*x]|['a'|['a]|['a\nb']|[\"a\nb\"]|['a\rb']|['a\\nb']|['a\\|['a\"]|['a'b']|['a'x]";

  it.each(none.split("|"))("does not begin with %j", (text) => {
    expect(parsePath(text)).toBeUndefined();
  });

  it.each([
    ["['it\\'s']", "it's"],
    ['["\\"\\\\"]', '"\\'],
    ["['\"][']", '"]['],
    ["['']", ""],
  ])("%s has the key %j", (text, key) => expect(parsePath(text)).toEqual([{ key }]));

  it("has all of its segments, in order", () => {
    expect(parsePath(".a[0][-12][*][:][3:][:-4]['b'].c_9")).toEqual([
      { key: "a" },
      { index: 0 },
      { index: -12 },
      { each: true },
      {},
      { from: 3 },
      { to: -4 },
      { key: "b" },
      { key: "c_9" },
    ]);
    expect(parsePath("")).toEqual([]);
  });
});

describe("a similar word", () => {
  it.each([
    ["temperature", ["temprature", "tmprtre", "temperatures", "x"], ["temprature", "temperatures"]],
    ["abcdef", ["abcdxx", "abcdxf", "abcxxx"], ["abcdxf", "abcdxx"]],
    ["ab", ["ax", "xx", "a", "abc", "abcd", "b"], ["ax", "a", "abc"]],
    ["", ["a", "ab"], ["a"]],
    ["abc", ["bca", "xabc", "ab"], ["xabc", "ab"]],
    ["TEMP", ["Temp", "tEmq"], ["Temp", "tEmq"]],
  ])("of %j differs in a third of its letters, or at least in one: %j", (wanted, words, near) =>
    expect(nearest(wanted, words)).toEqual(near),
  );

  it("is searched among 1,000 words, and at most three are returned", () => {
    const many = (count: number) => [...Array<string>(count).fill("something else"), "temp"];
    expect(nearest("temp", many(999))).toEqual(["temp"]);
    expect(nearest("temp", many(1_000))).toEqual([]);
    expect(nearest("temp", ["temp", "temq", "temr", "tems"])).toEqual(["temp", "temq", "temr"]);
  });

  it("is not searched if the word is longer than a name", () => {
    const word = "a".repeat(limits.maxNameChars);
    expect([nearest(word, [word]), nearest(`${word}a`, [word])]).toEqual([[word], []]);
  });
});

it("how a model writes a reference is the first syntax for texts that it may use", () => {
  const own = { name: "own" } as never;
  const written = [
    undefined,
    ["dagger", "dollar"],
    ["dagger", "mustache"],
    ["dagger"],
    [own, "dagger"],
  ].map((names) => writerIn(names as Parameters<typeof writerIn>[0])?.("a.b"));
  expect(written).toEqual(["$a.b", "$a.b", "{{a.b}}", "†a.b", "†a.b"]);
  expect([writerIn([]), writerIn(["target"]), writerIn([own])]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
