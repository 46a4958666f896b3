import { dagger, dollar, mustache } from "../../src/reference/syntaxes.ts";
import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { Lookup } from "../../src/reference/lookup.ts";
import { resolveReferences } from "../../src/reference/resolve.ts";
import { UrlTracker } from "../../src/reference/url-tracker.ts";
import {
  counted,
  countingReads,
  noSteps,
  openings,
  type Steps,
  stepsOf,
} from "../support/reading-steps.ts";
import { slow } from "../support/slow.ts";

/** Returns the kinds of steps that more than doubled with the text, with 1 % tolerance for the text's end. */
function grownFaster(once: Steps, twice: Steps): readonly string[] {
  return (["matches", "viewed", "read", "lookups"] as const)
    .filter((kind) => twice[kind] > once[kind] * 2.02 + 2)
    .map((kind) => `${kind}: ${once[kind]} became ${twice[kind]}`);
}

describe("the cost of an expansion is linear", slow, () => {
  const chunks = openings.flatMap((one) => [
    [...one, 20_000, Infinity] as const,
    [...one, 6_000, 1] as const,
  ]);

  it.each(chunks)("%s, %j, %i characters in chunks of %i", (_name, unit, chars, chunkChars) => {
    const times = Math.ceil(chars / unit.length);
    const once = stepsOf(unit.repeat(times), chunkChars);
    const twice = stepsOf(unit.repeat(times * 2), chunkChars);
    expect(once.read).toBeGreaterThanOrEqual(unit.length * times);
    expect(grownFaster(once, twice)).toEqual([]);
    expect(twice.viewed).toBeLessThanOrEqual(twice.matches * limits.maxHeldChars);
  });

  it("in a long run of any mark", slow, () => {
    for (const mark of ["`", "~", "[", "]", "(", "<", "/", ":", "h", "\\", " ", "\n", "\r", ">"]) {
      const text = mark.repeat(100_000);
      expect(stepsOf(text, Infinity).read).toBeLessThanOrEqual(text.length * 8);
    }
  });

  it("with at most two matches per opening: one for the text before it and one for itself", () => {
    const { matches, lookups } = stepsOf("$a ".repeat(1_000), Infinity);
    expect(lookups).toBe(1_000);
    expect(matches).toBeGreaterThanOrEqual(1_000);
    expect(matches).toBeLessThanOrEqual(2_000);
  });

  it("with no match or lookup, and one read per reader, for text without an opening", () => {
    const text = "plain text, 100 %. ".repeat(5_000);
    const steps = stepsOf(text, Infinity);
    expect(steps).toMatchObject({ matches: 0, lookups: 0 });
    expect(steps.read).toBeGreaterThanOrEqual(text.length);
    expect(steps.read).toBeLessThanOrEqual(text.length * 2);
  });
});

it("the URL tracker reads each emitted character once", () => {
  const text = "](<a //www.https: [a]: ".repeat(1_000);
  const steps = noSteps();
  const tracker = new UrlTracker();
  countingReads(steps, () => tracker.feed(text));
  expect(tracker.isOpen).toBe(true);
  expect(steps.read).toBe(text.length);
});

describe("the number of matches in a tool's input is linear", slow, () => {
  async function inputSteps(text: string): Promise<Steps> {
    const steps = noSteps();
    const syntaxes = [dollar, mustache, dagger].map((syntax) => counted(syntax, steps));
    const lookup: Lookup = () => {
      steps.lookups++;
      return { found: false, reason: "unknown" };
    };
    expect((await resolveReferences(text, lookup, { syntaxes })).value).toBe(text);
    return steps;
  }

  it.each(openings)("%s", async (_name, unit) => {
    // Few enough that the bound on references is not reached.
    const once = await inputSteps(unit.repeat(150));
    const twice = await inputSteps(unit.repeat(300));
    expect(twice.lookups).toBeLessThanOrEqual(once.lookups * 2 + 2);
    expect(twice.matches).toBeLessThanOrEqual(once.matches * 2 + 2);
    expect(twice.viewed).toBeLessThanOrEqual(twice.matches * limits.maxHeldChars);
    expect(once.lookups > 0).toBe(twice.lookups > 0);
  });
});
