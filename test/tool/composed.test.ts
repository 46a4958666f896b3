import { expect, it } from "vitest";
import { isComposed, UrlSources } from "../../src/tool/composed.ts";
import type { Json } from "../../src/value/json.ts";
import { slow } from "../support/slow.ts";

const url = (number: number) => `https://a.example/${number}`;

it.each<[string, Json, readonly Json[]]>([
  ["the same URL", url(1), [url(1)]],
  ["a URL of a later value", url(2), ["none", 7, { a: [url(1), { b: url(2) }] }]],
  ["URLs of two values", [url(1), { a: url(2) }], [url(2), url(1)]],
  ["a URL that is a key", { [url(1)]: 1 }, [{ a: { [url(1)]: 2 } }]],
  ["a URL in another sentence", `See (${url(1)}), now.`, [`At ${url(1)}\nit is.`]],
  ["up to three closing marks", `**${url(1)}**.`, [url(1)]],
  ["a URL in the middle of words", `a ${url(1)} b ${url(2)} c`, [`${url(2)} ${url(1)}`]],
  ["an address", "a@b.example", ["Write to a@b.example."]],
  ["a destination in Markdown", "[x](y/z)", ["[a](y/z)"]],
  ["no URL", "and/or: a (b), c @ d", [1]],
  ["no source", url(1), []],
  ["no text", [1, null, true, {}, []], ["none"]],
])("a composed value has only known URLs: %s", async (_, made, used) => {
  expect(await isComposed(made, used)).toBe(false);
});

it.each<[string, Json, readonly Json[]]>([
  ["another URL", url(2), [url(1)]],
  ["one of two", `${url(1)} ${url(2)}`, [url(1)]],
  ["a longer URL", url(11), [url(1)]],
  ["a shorter URL", url(1), [url(11)]],
  ["a URL of two parts", url(12), ["https://a.example/", "12"]],
  ["another scheme", "http://a.example/1", [url(1)]],
  ["a longer scheme", `x${url(1)}`, [url(1)]],
  ["a shorter scheme", url(1), [`x${url(1)}`]],
  ["a slash at the end", "https://a.example/", ["https://a.example"]],
  ["four closing marks", `${url(1)}****`, [url(1)]],
  ["a URL in a key", { [url(2)]: url(1) }, [url(1)]],
  ["an address", "a@b.example", ["a@c.example"]],
  ["a name of a host", "www.a.example", ["a.example"]],
  ["a name of a host in capitals", "WWW.A.EXAMPLE", ["a.example"]],
  ["a destination in Markdown", "[x](y/z)", ["y/z"]],
  ["a tag", "<img src=x>", ["img src=x"]],
  ["a URL after many words", `${"word ".repeat(40)}${url(2)}`, [`${"word ".repeat(40)}${url(1)}`]],
  ["a URL in a list", [1, [url(2)]], [[url(1)]]],
])("a composed value has an unknown URL: %s", async (_, made, used) => {
  expect(await isComposed(made, used)).toBe(true);
});

it("the values that URLs may come from are read once each, and only as long as a URL is unknown", async () => {
  const sources = new UrlSources();
  const read: number[] = [];
  for (const number of [1, 2, 3]) {
    sources.add(async () => {
      read.push(number);
      return [url(number)];
    });
  }
  expect(await sources.hasUnknownUrl("no URL: none")).toBe(false);
  expect(read).toEqual([]);
  expect(await sources.hasUnknownUrl(url(2))).toBe(false);
  expect(read).toEqual([1, 2]);
  expect(await sources.hasUnknownUrl([url(1), url(2)])).toBe(false);
  expect(read).toEqual([1, 2]);
  expect(await sources.hasUnknownUrl(url(4))).toBe(true);
  expect(await sources.hasUnknownUrl(url(3))).toBe(false);
  expect(read).toEqual([1, 2, 3]);
});

it("the values that URLs may come from may fail to be read, which fails one call", async () => {
  const sources = new UrlSources();
  sources.add(() => Promise.reject(new Error("It is gone.")));
  sources.add(() => url(1));
  await expect(sources.hasUnknownUrl(url(1))).rejects.toThrow("It is gone.");
  expect(await sources.hasUnknownUrl(url(1))).toBe(false);
});

it("checks many URLs against many values in linear time", slow, async () => {
  const sources = new UrlSources();
  const urls = Array.from({ length: 20_000 }, (_, number) => url(number));
  sources.add(() => urls);
  for (let number = 0; number < 100_000; number++) sources.add(() => "no/url");
  expect(await sources.hasUnknownUrl([...urls, url(-1)])).toBe(true);
});

/** Returns a text of `chars` characters with the URL. */
const textOf = (chars: number) => `${url(1)} ${"x".repeat(chars - url(1).length - 1)}`;

it("searches the first million characters that were made, in all values together", async () => {
  for (const [chars, isUnknown] of [
    [1_048_576, false],
    [1_048_577, true],
  ] as const) {
    const sources = new UrlSources();
    sources.add(() => url(1));
    expect(await sources.hasUnknownUrl(textOf(chars))).toBe(isUnknown);
    // A text without marks of a URL is not searched.
    expect(await sources.hasUnknownUrl("x".repeat(9))).toBe(false);
    expect(await sources.hasUnknownUrl(url(1))).toBe(true);
  }
});

it("searches the first two million characters that were used, and reads no more values", async () => {
  for (const [chars, isUnknown] of [
    [2_097_152, false],
    [2_097_153, true],
  ] as const) {
    const sources = new UrlSources();
    let reads = 0;
    sources.add(() => textOf(chars));
    const another = () => {
      reads++;
      return url(2);
    };
    for (let count = 0; count < 3; count++) sources.add(another);
    expect(await sources.hasUnknownUrl(url(1))).toBe(isUnknown);
    expect(await sources.hasUnknownUrl(url(2))).toBe(true);
    // The value that goes over the limit is the last.
    expect(reads).toBe(isUnknown ? 0 : 1);
  }
});
