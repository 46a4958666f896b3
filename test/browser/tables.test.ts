import { describe, expect } from "vitest";
import { barriersInBoth } from "../support/axe.ts";
import { it } from "../support/page-test.ts";
import { listed, variablesPage } from "../support/variables-page.ts";

const rows = Array.from({ length: 300 }, (_, at) => ({
  customer_id: 10_000 + at,
  year: 2_000 + (at % 30),
  ...Object.fromEntries(
    Array.from({ length: 18 }, (_, nth) => [`figure_${nth}`, at * 1_234 + nth]),
  ),
}));

describe("a wide table", () => {
  it("opens over the chat, keeps its filter, and closes with Escape", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    await variables.put("wide", rows);
    await listed(page, "wide").click();
    const table = page.getByRole("table", { name: "$wide" });
    await table.getByText("10000", { exact: true }).waitFor();
    await page.getByLabel("Filter rows").fill("10299");
    const narrow = (await table.boundingBox())?.x ?? 0;
    expect(narrow).toBeGreaterThan(800);
    await page.getByRole("button", { name: "Open wide" }).click();
    const dialog = page.getByRole("dialog", { name: "$wide, wide" });
    await dialog.getByText("1 of 300 rows").waitFor();
    expect((await dialog.boundingBox())?.width).toBeGreaterThan(1_200);
    expect(await barriersInBoth(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await page.getByLabel("Filter rows").inputValue()).toBe("10299");
  });
});
