import type { TestProject } from "vitest/node";
import { ensurePage, hasPage } from "../../scripts/page.ts";

/** Runs once before the tests of a project whose servers have the page. Workers need its folder, however old. */
export default function buildPage({ name }: TestProject): void {
  if (!name.endsWith("workerd") || !hasPage()) ensurePage();
}
