import { expect, it } from "vitest";
import { samples } from "../support/slow.ts";
import { leakingTexts } from "../support/url-fuzz.ts";

const TEXTS = samples(20_000);

it(`no renderer makes a URL with a value in ${TEXTS} random answers`, () => {
  const leaks = [...leakingTexts(1_000_000, TEXTS)];
  expect(leaks).toEqual([]);
});
