import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LOCAL_RESULTS, selectionOf } from "../../bench/selection.ts";

const root = join(import.meta.dirname, "../..");

describe("a run of the benchmarks", () => {
  it("publishes only complete runs that include the peers", () => {
    expect(selectionOf(["--peers"])).toMatchObject({ isPublished: true, isRecorded: true });
    for (const given of [[], ["--quick"], ["--peers", "--quick"], ["loop"], ["--peers", "loop"]]) {
      expect(selectionOf(given).isPublished).toBe(false);
    }
  });

  it("takes few samples by default, and all of them for named benches", () => {
    expect(selectionOf([]).options).toEqual(["--quick"]);
    expect(selectionOf(["loop", "many"])).toMatchObject({
      benches: ["loop", "many"],
      options: [],
      isRecorded: false,
    });
    expect(selectionOf(["loop", "--peers", "--quick"]).options).toEqual(["--peers", "--quick"]);
  });

  it("refuses an unknown bench name and lists the valid ones", () => {
    expect(() => selectionOf(["lop"])).toThrow(/no bench lop; there are .*\bloop\b/);
  });

  it("writes its results to a file that git ignores", () => {
    const ignored = readFileSync(join(root, ".gitignore"), "utf8").split("\n");
    expect(ignored).toContain(`/bench/${LOCAL_RESULTS}`);
  });
});
