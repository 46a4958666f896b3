import { expect, it } from "vitest";
import { UrlSources } from "../../src/tool/composed.ts";
import { slow } from "../support/slow.ts";

const url = (number: number) => `https://a.example/${number}`;

it("checks many URLs against many values in linear time", slow, async () => {
  const sources = new UrlSources();
  const urls = Array.from({ length: 20_000 }, (_, number) => url(number));
  sources.add(() => urls);
  for (let number = 0; number < 100_000; number++) sources.add(() => "no/url");
  expect(await sources.hasUnknownUrl([...urls, url(-1)])).toBe(true);
});

it("counts later values as unknown when the first were very long", slow, async () => {
  const sources = new UrlSources();
  const known = url(1).repeat(100_000);
  sources.add(() => [known, url(1)]);
  expect(await sources.hasUnknownUrl(url(1))).toBe(false);
  expect(await sources.hasUnknownUrl(known)).toBe(true);
  expect(await sources.hasUnknownUrl(url(1))).toBe(true);
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
