import { describe, expect, it } from "vitest";
import { ByrefError } from "../../src/errors.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import {
  requireOpen,
  requireOwnPlaces,
  requireReplaced,
  saveTargetIn,
  splitInput,
} from "../../src/tool/save-target.ts";

/** Returns code and message of what is thrown. */
function refusalOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof ByrefError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "none";
}

describe("a target", () => {
  it.each([
    ["a || $b && c", "bad_alternatives: a || $b && c mixes || and &&; use one of them."],
    ["report", 'bad_path: "report" is not a place to save to. Write $report.'],
    ["a b", 'bad_path: "a b" is not a place to save to. Write $name or $name.key.'],
    ["", 'bad_path: "" is not a place to save to. Write $name or $name.key.'],
    ["$a[*]", 'bad_path: "$a[*]" is not a place to save to. Write $name or $name.key.'],
    ["†input.x", "bad_name: †input.x is the caller's input; choose another name."],
    ["$a && $ab", "none"],
  ])("is refused with the reason: %s", (text, refusal) => {
    expect(refusalOf(() => saveTargetIn(text))).toBe(refusal);
  });

  it("is refused with the prefix of its syntax, and shortened", () => {
    expect(refusalOf(() => saveTargetIn("a", "†"))).toContain("Write †a.");
    const long = "x".repeat(81);
    expect(refusalOf(() => saveTargetIn(long))).toBe(
      `bad_path: "${"x".repeat(80)}" is not a place to save to. Write $name or $name.key.`,
    );
    expect(refusalOf(() => saveTargetIn("x".repeat(60)))).toContain(`Write $${"x".repeat(60)}.`);
    const path = (chars: number) => `a.${"b".repeat(chars - 2)}`;
    expect(refusalOf(() => saveTargetIn(path(80)))).toContain(`Write $${path(80)}.`);
    expect(refusalOf(() => saveTargetIn(path(81)))).toContain("Write $name or $name.key.");
  });
});

describe("a place in the store", () => {
  const filled = async () => {
    const store = new MemoryStore();
    await store.save({ name: "open", value: {} });
    await store.save({ name: "seal", value: {}, visibility: "sealed" });
    await store.save({ name: "key", value: {}, visibility: "secret" });
    await store.save({ name: "own_r1", value: {}, visibility: "secret", run: "r1" });
    return store;
  };

  it("is open unless it is secret, or belongs to another run", async () => {
    const store = await filled();
    const refusal = (text: string, own?: string) =>
      refusalOf(() => requireOpen(saveTargetIn(text), store, own));
    expect(refusal("$open && $new && $seal.x")).toBe("none");
    expect(refusal("$new && $key")).toBe(
      "variable_secret: $key is secret and cannot be written here.",
    );
    expect(refusal("$own_r1", "r1")).toBe("none");
    for (const own of [undefined, "r2"])
      expect(refusal("$own_r1", own)).toBe(
        "bad_name: $own_r1 cannot be written here; choose another name.",
      );
  });

  it("is refused in a computed variable", () => {
    const info = { name: "history", readOnly: true };
    const store = { glance: () => info } as unknown as MemoryStore;
    expect(refusalOf(() => requireOpen(saveTargetIn("$history.x"), store))).toMatch(/^bad_name: /u);
  });

  it("may be a guarded variable as a whole, but not a part of it", async () => {
    const store = await filled();
    const refusal = (text: string) =>
      refusalOf(() => requireReplaced(saveTargetIn(text).places, {}, store));
    expect(refusal("$open.a && $seal && $new.b")).toBe("none");
    for (const name of ["seal", "key"])
      expect(refusal(`$open && $${name}.a`)).toBe(
        `variable_sealed: $${name} is guarded: it can be replaced as a whole, not added to.`,
      );
    expect(refusalOf(() => requireReplaced(undefined, {}, store))).toBe("none");
  });

  it("may be a part of a guarded variable if a plan has chosen it in its own run", async () => {
    const store = await filled();
    const saveTo = saveTargetIn("$own_r1.a");
    const places = saveTo.places.map((place) => ({ ...place, run: "r1" }));
    const own = { operator: saveTo.operator, places };
    const refusal = (call: Parameters<typeof requireReplaced>[1]) =>
      refusalOf(() => requireReplaced(places, call, store));
    expect([refusal({ isPlanned: true }), refusal({ saveTo: own })]).toEqual(["none", "none"]);
    expect([refusal({}), refusal({ saveTo })]).toEqual([
      expect.stringMatching(/^variable_sealed/u),
      expect.stringMatching(/^variable_sealed/u),
    ]);
    const withoutRun = () => requireReplaced(saveTo.places, { saveTo }, store);
    expect(refusalOf(withoutRun)).toMatch(/^variable_sealed/u);
  });

  it("of a secret result is a variable of its own in a run", () => {
    const refusal = (text: string, run?: string) => {
      const target = saveTargetIn(text);
      const places = target.places.map((place) => (run === undefined ? place : { ...place, run }));
      return refusalOf(() => requireOwnPlaces({ ...target, places }));
    };
    expect(refusal("†a", "r1")).toBe("none");
    expect(refusal("†a.b")).toBe("none");
    expect(refusal("†c && †a.b", "r1")).toBe(
      "variable_secret: A secret result is saved as a variable of its own: †name, not †a.b.",
    );
    expect(refusalOf(() => requireOwnPlaces(undefined))).toBe("none");
  });
});

it("the parameters about the result must be texts, and a description is shortened", () => {
  const refusal = (input: object) => refusalOf(() => splitInput(input as never));
  expect(refusal({ _outputPath: 5 })).toBe("bad_path: _outputPath must be text.");
  expect(refusal({ _description: ["a"] })).toBe("bad_path: _description must be text.");
  const { description } = splitInput({ _description: "x".repeat(501) });
  expect(description).toBe("x".repeat(500));
});
