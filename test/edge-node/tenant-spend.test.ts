import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TenantSpend } from "../../src/edge/directory/tenant-spend.ts";
import * as limits from "../../src/limits.ts";
import { type Grant, NOTHING_SPENT, type Spent } from "../../src/turn/spend/spend.ts";
import { MemoryLeases } from "../support/leases.ts";
import { NodeSql } from "../support/node-sql.ts";
import { slow } from "../support/slow.ts";

type Kind = keyof Spent;

interface Asked {
  readonly what?: Kind;
  readonly count?: number;
  readonly maximum?: number;
  readonly spent?: number;
  readonly window?: string;
}

/** A tenant's directory. Each request asks for one kind of spending. */
function tenant(maximum = 10) {
  const spend = new TenantSpend(new NodeSql());
  const spentOf = (what: Kind, spent: number) => ({ ...NOTHING_SPENT, [what]: spent });
  const take = (key: string, asked: Asked = {}): Grant => {
    const { what = "modelCalls", count = 1, spent = 0, window = "" } = asked;
    const wants = [{ what, count, maximum: asked.maximum ?? maximum }];
    return spend.take({ key, window, spent: spentOf(what, spent), wants });
  };
  const settle = (key: string, spent: number, what: Kind = "modelCalls") =>
    spend.settle({ key, spent: spentOf(what, spent) });
  let others = 0;
  /** Grants single calls to other conversations until one is refused, and returns their number. */
  const left = () => {
    const before = others;
    while ("upTo" in take(`other ${others}`)) others++;
    return others - before;
  };
  return { take, settle, left, spend };
}

describe("a lease", () => {
  it("grants more than requested while there is plenty, and only the rest at the end", () => {
    const { modelCalls, toolCalls, tokens } = limits.lease;
    const { take, left } = tenant(2_000);
    // A turn that goes on gets a reserve.
    expect(take("a")).toEqual({ upTo: { modelCalls: 1 } });
    expect(take("a", { spent: 1 })).toEqual({ upTo: { modelCalls: 3 } });
    expect(take("a", { spent: 9 })).toEqual({ upTo: { modelCalls: 9 + modelCalls } });
    expect(take("b", { what: "toolCalls", spent: 50 })).toEqual({
      upTo: { toolCalls: 50 + toolCalls },
    });
    expect(take("c", { what: "toolCalls", count: 50 })).toEqual({ upTo: { toolCalls: 50 } });
    expect(take("d", { what: "tokens", maximum: 1e9 })).toEqual({ upTo: { tokens } });
    expect(take("e", { what: "tokens", maximum: tokens + 7 })).toEqual({ upTo: { tokens: 7 } });
    expect(left()).toBe(2_000 - 9 - modelCalls);
    expect(take("f", { what: "modelCalls" })).toEqual({
      refused: { what: "modelCalls", count: 1, maximum: 2_000, spent: 2_000 },
    });
  });

  it("is refused as a whole if one of its kinds is used up", () => {
    const { spend, take } = tenant();
    const wants = [
      { what: "modelCalls", count: 1, maximum: 1 },
      { what: "tokens", count: 1, maximum: 0 },
    ] as const;
    const grant = spend.take({ key: "a", window: "", spent: NOTHING_SPENT, wants });
    expect(grant).toEqual({ refused: { what: "tokens", count: 1, maximum: 0, spent: 0 } });
    expect(take("b", { maximum: 1 })).toEqual({ upTo: { modelCalls: 1 } });
  });

  it("counts spending beyond it, when more is requested and when it is settled", () => {
    const { take, settle } = tenant(100);
    const about = { what: "tokens", maximum: 100 } as const;
    expect(take("a", about)).toEqual({ upTo: { tokens: 100 } });
    const refused = { what: "tokens", count: 1, maximum: 100, spent: 130 };
    expect(take("a", { ...about, spent: 130 })).toEqual({ refused });
    settle("a", 140, "tokens");
    expect(take("b", about)).toEqual({ refused: { ...refused, spent: 140 } });
    // The same amount leaves a rest of a higher limit.
    expect(take("b", { ...about, maximum: 150 })).toEqual({ upTo: { tokens: 10 } });
  });

  it("that is settled gives back what was not spent, and once only", () => {
    const { take, settle, left } = tenant();
    expect(take("a", { count: 4 })).toEqual({ upTo: { modelCalls: 4 } });
    for (let times = 0; times < 2; times++) settle("a", 3);
    expect(left()).toBe(7);
  });

  it("is for one window; leases of the last two windows are stored", async () => {
    const leases = new MemoryLeases({});
    const wants = [{ what: "modelCalls", count: 2, maximum: 2 }] as const;
    const take = (key: string, window: string) =>
      leases.take({ key, window, spent: NOTHING_SPENT, wants });
    const windows = () =>
      [...new Set(leases.rows.flatMap(({ key, window }) => (key === "" ? [] : [window])))].sort();
    expect(await take("a", "2026-11-30")).toHaveProperty("upTo");
    expect(await take("b", "2026-11-30")).toHaveProperty("refused");
    expect(await take("b", "2026-12-01")).toHaveProperty("upTo");
    expect(windows()).toEqual(["2026-11-30", "2026-12-01"]);
    // The request was made before midnight, and arrives after it.
    expect(await take("late", "2026-11-30")).toHaveProperty("refused");
    leases.settle({ key: "a", spent: NOTHING_SPENT });
    expect(await take("c", "2026-12-01")).toHaveProperty("refused");
    expect(await take("c", "2026-12-03")).toHaveProperty("upTo");
    expect([windows(), leases.open]).toEqual([
      ["2026-12-01", "2026-12-03"],
      ["b", "c"],
    ]);
  });
});

it("no more calls are made than the limit allows, and settling returns the rest", slow, () => {
  const action = fc.record({
    turn: fc.nat({ max: 7 }),
    count: fc.integer({ min: 1, max: 5 }),
    does: fc.constantFrom("spend", "spend", "spend", "crash", "settle", "repeat"),
  });
  const actions = fc.array(action, { maxLength: 120 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 60 }), actions, (maximum, actions) => {
      const { take, settle, left } = tenant(maximum);
      const turns = Array.from({ length: 8 }, () => ({ spent: 0, upTo: 0, number: 0 }));
      let made = 0;
      for (const { turn: index, count, does } of actions) {
        const turn = turns[index] ?? { spent: 0, upTo: 0, number: 0 };
        const key = `${index}/${turn.number}`;
        if (does === "settle") {
          // The second one repeats the first, whose answer was lost.
          for (let time = 0; time < 2; time++) settle(key, turn.spent);
          Object.assign(turn, { spent: 0, upTo: 0, number: turn.number + 1 });
        } else if (does === "crash") {
          turn.upTo = 0;
        } else if (does === "repeat") {
          // Repeats a request whose answer was lost.
          take(key, { count, spent: turn.spent });
        } else {
          if (turn.spent + count > turn.upTo) {
            const grant = take(key, { count, spent: turn.spent });
            if (!("upTo" in grant)) continue;
            turn.upTo = grant.upTo.modelCalls ?? 0;
          }
          expect(turn.spent + count).toBeLessThanOrEqual(turn.upTo);
          turn.spent += count;
          made += count;
        }
        expect(made).toBeLessThanOrEqual(maximum);
      }
      for (const [index, { spent, number }] of turns.entries()) {
        settle(`${index}/${number}`, spent);
      }
      expect(left()).toBe(maximum - made);
    }),
    { numRuns: 200 },
  );
});
