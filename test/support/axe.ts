import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string }[];
}

/** What axe takes for a serious barrier, or worse: each with the elements. */
export async function barriersOn(page: Page): Promise<readonly string[]> {
  // Not as a script of the page: its policy has none but its own.
  await page.evaluate(source);
  const violations = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )) as readonly Violation[];
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
