import { expect, it } from "vitest";
import { UrlSources } from "../../src/tool/composed.ts";

const url = (number: number) => `https://a.example/${number}`;

it("checks many URLs against many values in linear time", async () => {
  const sources = new UrlSources();
  const urls = Array.from({ length: 20_000 }, (_, number) => url(number));
  sources.add(() => urls);
  for (let number = 0; number < 100_000; number++) sources.add(() => "no/url");
  expect(await sources.hasUnknownUrl([...urls, url(-1)])).toBe(true);
});

it("counts later values as unknown when the first were very long", async () => {
  const sources = new UrlSources();
  const known = url(1).repeat(100_000);
  sources.add(() => [known, url(1)]);
  expect(await sources.hasUnknownUrl(url(1))).toBe(false);
  expect(await sources.hasUnknownUrl(known)).toBe(true);
  expect(await sources.hasUnknownUrl(url(1))).toBe(true);
});

it("finds URLs in concurrent calls", async () => {
  const sources = new UrlSources();
  sources.add(() => [url(1), url(2)]);
  expect(await Promise.all([sources.hasUnknownUrl(url(1)), sources.hasUnknownUrl(url(2))])).toEqual(
    [false, false],
  );
});

it("reads values that are added later", async () => {
  const sources = new UrlSources();
  sources.add(() => "none");
  expect(await sources.hasUnknownUrl(url(1))).toBe(true);
  sources.add(() => url(1));
  expect(await sources.hasUnknownUrl(url(1))).toBe(false);
});
