import type { Locator } from "playwright-core";
import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { askExample, cardOf, idIn, it } from "../support/page-test.ts";

/** Returns the texts of the cells of each row. */
async function rowsIn(table: Locator): Promise<readonly (readonly string[])[]> {
  const rows = await table.getByRole("row").all();
  return Promise.all(
    rows.map((row) => row.getByRole("cell").or(row.getByRole("columnheader")).allInnerTexts()),
  );
}

describe("the example", () => {
  it("with 5,000 orders shows totals as a table in the answer, and as a chart", async ({
    open,
    demo,
  }) => {
    const page = await open(demo.url);
    await askExample(page, /monthly totals of my orders\?/);
    const client = createClient(demo.url).conversation(idIn(page));
    const totals =
      await client.variables.get<readonly Record<string, unknown>[]>("monthly_totals_1");
    const answer = page.getByRole("article", { name: "Answer" });
    const [head = [], ...rows] = await rowsIn(answer.getByRole("table"));
    expect(head).toEqual(Object.keys(totals[0] ?? {}));
    const read = (cell: string) => (cell.includes("-") ? cell : Number(cell.replace(",", "")));
    expect(rows.map((row) => row.map(read))).toEqual(totals.map((total) => Object.values(total)));
    expect(rows).toHaveLength(12);
    await page.locator(".item-open", { hasText: "$list_orders" }).getByText("5,000").waitFor();

    const mark = answer.getByRole("button", { name: "From $monthly_totals_1" });
    const card = await cardOf(page, mark);
    await card.getByRole("button", { name: "Open $monthly_totals_1" }).click();
    const table = page.getByRole("table", { name: "$monthly_totals_1" });
    await table.getByText(String(totals[11]?.["month"]), { exact: true }).waitFor();
    const panel = page.getByRole("tabpanel", { name: "Variables" });
    await panel.getByRole("button", { name: "Chart", exact: true }).click();
    const drawn = page.getByRole("group", { name: /of \$monthly_totals_1 by month/ });
    await drawn.waitFor();
    expect(await page.locator(".chart-line, .chart-bars").first().getAttribute("d")).toMatch(/M/);
    await drawn.focus();
    await page.keyboard.press("End");
    expect(await page.locator(".chart-legend").innerText()).toContain(
      String(totals[11]?.["month"]),
    );
  });
});
