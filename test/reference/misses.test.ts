import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { Expander, type Unresolved } from "../../src/reference/expand.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Lookup } from "../../src/reference/lookup.ts";
import { interpolate } from "../../src/reference/resolve.ts";
import { slow } from "../support/slow.ts";

const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`key_${n}`, n]));
const times = (count: number, write: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => write(n)).join(" ");

async function expanded(text: string, lookup: Lookup) {
  const unresolved: Unresolved[] = [];
  let shown = "";
  const expander = new Expander(lookup, { onUnresolved: (one) => unresolved.push(one) });
  const emit = (piece: string) => {
    shown += piece;
  };
  await expander.write(text, emit);
  await expander.flush(emit);
  return { shown, unresolved };
}

describe("misses", () => {
  it("are explained with similar names two hundred times, and then only listed", slow, async () => {
    const lookup = lookupIn({ value: wide });
    const near = (unresolved: readonly Unresolved[]) =>
      unresolved.filter((one) => one.near !== undefined).length;
    const { unresolved } = await interpolate(
      times(300, (n) => `{{value.kei_${n}}}`),
      lookup,
    );
    expect([unresolved.length, near(unresolved)]).toEqual([300, limits.maxBatchItems]);
    const answer = await expanded(
      times(300, (n) => `$value.kei_${n}`),
      lookup,
    );
    expect([answer.unresolved.length, near(answer.unresolved)]).toEqual([
      300,
      limits.maxBatchItems,
    ]);
    const unknown = await interpolate(
      times(300, (n) => `{{value${n}x}}`),
      lookupIn({ value1: 1, value2: 2 }),
    );
    expect(unknown.unresolved[0]?.near).toEqual(["value1", "value2"]);
    expect(unknown.unresolved[299]?.near).toBeUndefined();
  });

  it("do not prevent later references from being found", async () => {
    const text = times(300, (n) => `$value.kei_${n}`);
    const { shown } = await expanded(`${text} $value.key_7`, lookupIn({ value: wide }));
    expect(shown).toBe(`${text} 7`);
  });
});
