import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { slow } from "../support/slow.ts";

/** Returns the lines that lint rejects because of an effect. */
function refused(lines: readonly string[]): readonly number[] {
  const folder = mkdtempSync(join(tmpdir(), "byref-lint-"));
  const file = join(folder, "effects.ts");
  try {
    writeFileSync(file, lines.join("\n"));
    const config = join(import.meta.dirname, "../../.oxlintrc.json");
    const { stdout } = spawnSync("oxlint", ["-c", config, "-f", "json", file], {
      encoding: "utf8",
    });
    const { diagnostics } = JSON.parse(stdout) as Findings;
    const own = diagnostics.filter(({ code }) => code === "page(effect-body)");
    return own.flatMap(({ labels }) => labels.map(({ span }) => span.line)).sort((a, b) => a - b);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Findings {
  readonly diagnostics: readonly {
    readonly code: string;
    readonly labels: readonly { readonly span: { readonly line: number } }[];
  }[];
}

describe("lint", () => {
  it("refuses effects that may return something other than a cleanup", slow, () => {
    const lines = [
      "useEffect(() => box.scrollTo(0, 0), []);",
      "useLayoutEffect(() => void box.focus());",
      "React.useInsertionEffect(() => () => stop());",
      "useEffect(work, [work]);",
      "useEffect(async () => { await work(); }, []);",
      "useEffect(() => { box.scrollTo(0, 0); }, []);",
      "useLayoutEffect(function look() { return () => stop(); });",
      "useMemo(() => box.scrollTo(0, 0), []);",
    ];
    expect(refused(lines)).toEqual([1, 2, 3, 4, 5]);
  });
});
