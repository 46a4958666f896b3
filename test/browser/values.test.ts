import { describe, expect } from "vitest";
import { it } from "../support/page-test.ts";
import { listed, records, variablesPage } from "../support/variables-page.ts";

describe("a value", () => {
  it("of records is a table that fetches only the visible rows", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    await variables.put("rows", [...records(4_000)]);
    await listed(page, "rows").click();
    const table = page.getByRole("table", { name: "$rows" });
    await table.getByText("row 5", { exact: true }).waitFor();
    expect(await table.getAttribute("aria-rowcount")).toBe("4001");
    expect(await table.getByRole("row").count()).toBeLessThan(80);
    await page.locator(".variables-frame").focus();
    await page.keyboard.press("End");
    await table.getByText("row 3999", { exact: true }).waitFor();
    await table.getByRole("button", { name: "size" }).click();
    await page.getByLabel("Filter rows").fill("ROW 399");
    const found = records(4_000).filter(({ name }) => name.includes("row 399"));
    await page.getByText(`${found.length} of 4,000 rows`).waitFor();
    const shown = await table.locator(".variables-rows .variables-number").allInnerTexts();
    const sizes = shown.filter((_, cell) => cell % 2 === 1).map(Number);
    expect(sizes).toHaveLength(found.length);
    expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
    await page.getByRole("button", { name: "All variables" }).click();
    await listed(page, "rows").waitFor();
  });

  it("with numbers is drawn as a chart, with a text alternative", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    await variables.put("months", [
      { month: "2025-01", total: 10 },
      { month: "2025-02", total: 30 },
    ]);
    await listed(page, "months").click();
    await page.getByRole("button", { name: "Chart" }).click();
    await page
      .getByText("total: 2 values from 10 to 30, 20 on average")
      .waitFor({ state: "attached" });
    await page.getByRole("group", { name: /^total of \$months by month/ }).focus();
    await page.keyboard.press("End");
    expect(await page.locator(".chart-legend").innerText()).toMatch(/total\s*30\s*2025-02/);
    expect(await page.locator(".chart-bars").getAttribute("d")).toMatch(/^(?:M[^z]+z){2}$/);
  });
});
