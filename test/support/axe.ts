import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

const OTHER = { light: "dark", dark: "light" } as const;
const ALL = "{ resultTypes: ['violations'] }";
const COLORS = "{ resultTypes: ['violations'], runOnly: ['color-contrast'] }";

/** Returns axe's violations of any impact, with their elements. */
export const barriersOn = async (page: Page): Promise<readonly string[]> => violations(page, ALL);

/** Returns all violations in the current theme, and colour contrast violations in the other one. */
export async function barriersInBoth(page: Page): Promise<readonly string[]> {
  const isDark = await page.evaluate<boolean>("matchMedia('(prefers-color-scheme: dark)').matches");
  const theme = isDark ? "dark" : "light";
  const here = await violations(page, ALL);
  await page.emulateMedia({ colorScheme: OTHER[theme] });
  const there = await violations(page, COLORS);
  await page.emulateMedia({ colorScheme: theme });
  return [
    ...here.map((found) => `${theme}: ${found}`),
    ...there.map((found) => `${OTHER[theme]}: ${found}`),
  ];
}

async function violations(page: Page, options: string): Promise<readonly string[]> {
  // Injected from outside, because the page's policy allows only its own scripts.
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(source);
  const found = (await page.evaluate(
    `axe.run(document, ${options}).then(({ violations }) => violations)`,
  )) as readonly Violation[];
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
