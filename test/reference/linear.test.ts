import * as limits from "../../src/limits.ts";
import { dagger, dollar, mustache } from "../../src/reference/syntaxes.ts";
import { describe, expect, it } from "vitest";
import type { Lookup } from "../../src/reference/lookup.ts";
import { slow } from "../support/slow.ts";
import { Expander } from "../../src/reference/expand.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Syntax } from "../../src/reference/reference.ts";

/** Cost of reading a text, in steps that do not depend on the machine. */
interface Steps {
  /** Number of times that a syntax was asked for a match. */
  matches: number;
  /** Total number of characters that these calls could look at. */
  viewed: number;
  /** Number of character codes that any code read. */
  read: number;
  lookups: number;
}

const charCodeAt = String.prototype.charCodeAt;

/** Runs `work`, which must be synchronous, and counts the character codes that it reads. */
function countingReads(steps: Steps, work: () => void): void {
  // There is no other way to observe reads of characters. Only `work` runs while this is patched.
  // oxlint-disable-next-line no-extend-native
  String.prototype.charCodeAt = function (this: string, index: number) {
    steps.read++;
    return charCodeAt.call(this, index);
  };
  try {
    work();
  } finally {
    // oxlint-disable-next-line no-extend-native
    String.prototype.charCodeAt = charCodeAt;
  }
}

function counted(syntax: Syntax, steps: Steps): Syntax {
  return {
    ...syntax,
    match(view) {
      steps.matches++;
      steps.viewed += view.limit - view.start;
      return syntax.match(view);
    },
  };
}

const noSteps = (): Steps => ({ matches: 0, viewed: 0, read: 0, lookups: 0 });

function countingLookup(steps: Steps): Lookup {
  const known = lookupIn({ a: "1", odd: { k: 2 }, open: "](", url: "https://e.example/" });
  return (reference) => {
    steps.lookups++;
    return known(reference);
  };
}

/** Counts the steps of expanding a text that arrives in chunks of this many characters. */
function stepsOf(text: string, chunkChars: number): Steps {
  const steps = noSteps();
  const syntaxes = [dollar, mustache, dagger].map((syntax) => counted(syntax, steps));
  const expander = new Expander(countingLookup(steps), { syntaxes });
  const ignore = () => {};
  countingReads(steps, () => {
    for (let start = 0; start < text.length; start += chunkChars) {
      void expander.write(text.slice(start, start + chunkChars), ignore);
    }
    void expander.flush(ignore);
  });
  return steps;
}

const long = "k".repeat(600);

/** Text units that make a careless parser read the same characters again and again. */
const openings: readonly (readonly [name: string, unit: string])[] = [
  ["unclosed brackets", "$a["],
  ["references that may go on", "$a "],
  ["unclosed mustaches", "{{ "],
  ["mustaches that close with one brace", "{{a} "],
  ["unclosed keys, each closed by the next", "$odd['"],
  ["unclosed keys that never close", `$odd['${long} `],
  ["references longer than what is held", `$a.${long} `],
  ["unclosed braces", "${a "],
  ["unclosed braces around long paths", `\${a${".k".repeat(300)} `],
  ["daggers with alternatives", "†a || "],
  ["escapes", "\\$a "],
  ["backslashes before nothing", "\\\\"],
  ["blocks that do not come", "\n$a"],
  ["unknown names", "$nobody "],
  ["names that are too long", `$${"n".repeat(70)} `],
  ["dollars", "$"],
  ["inline code", "` $a"],
  ["code in runs of growing difference", "``$a`$a```$a\n"],
  ["fences", "```\n$a\n"],
  ["fences that do not close", "~~~~ $a\n"],
  ["destinations", "]( $a"],
  ["destinations in angle brackets", "](<$a "],
  ["values that open destinations", "${open}$a "],
  ["values that are URLs", "${url}$a "],
  ["parentheses inside destinations", "](($a"],
  ["tags", "<a $a"],
  ["link definitions", "\n[a]:$a"],
  ["labels that never end", "\n[a$a\\"],
  ["schemes", "https:$a "],
  ["words that begin like schemes", "httphttp $a"],
  ["slashes", "/ $a"],
];

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

  it("with no match or lookup, and one read per reader, for text without an opening", () => {
    const text = "plain text, 100 %. ".repeat(5_000);
    const steps = stepsOf(text, Infinity);
    expect(steps).toMatchObject({ matches: 0, lookups: 0 });
    expect(steps.read).toBeGreaterThanOrEqual(text.length);
    expect(steps.read).toBeLessThanOrEqual(text.length * 2);
  });
});
