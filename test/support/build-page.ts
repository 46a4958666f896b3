import type { TestProject } from "vitest/node";
import { ensurePage, hasPage } from "../../scripts/page.ts";

/** Runs once before the tests of a project whose servers have the page. Workers need its folder, however old. */
export default async function buildPage({ name }: TestProject): Promise<void> {
  if (!name.endsWith("workerd") || !hasPage()) await ensurePage();
}
