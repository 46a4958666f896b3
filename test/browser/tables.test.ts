import { describe, expect } from "vitest";
import { barriersInBoth } from "../support/axe.ts";
import { eventually, it } from "../support/page-test.ts";
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

  it("has columns that can be resized with the pointer and the keyboard", async ({
    open,
    demo,
  }) => {
    const { page, variables } = await variablesPage({ open, demo });
    await variables.put("wide", rows);
    await listed(page, "wide").click();
    await page.getByRole("button", { name: "Open wide" }).click();
    const header = page.getByRole("columnheader", { name: "figure_0" });
    const width = async () => (await header.boundingBox())?.width ?? 0;
    const before = await width();
    const grip = await header.locator(".variables-grip").boundingBox();
    const from = { x: (grip?.x ?? 0) + 4, y: (grip?.y ?? 0) + 10 };
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x + 80, from.y, { steps: 4 });
    await page.mouse.up();
    await eventually(async () => expect(Math.round((await width()) - before)).toBe(80));
    // The column keeps its width when the pointer moves on.
    await page.mouse.move(from.x + 200, from.y);
    expect(Math.round((await width()) - before)).toBe(80);
    const cell = page.getByRole("row").nth(1).getByRole("cell").nth(2);
    expect((await cell.boundingBox())?.width).toBeCloseTo(before + 80, 0);
    await header.getByRole("button").focus();
    await page.keyboard.press("Alt+ArrowLeft");
    await eventually(async () => expect(Math.round((await width()) - before)).toBe(56));
    await header.locator(".variables-grip").dblclick();
    await eventually(async () => expect(Math.round(await width())).toBe(Math.round(before)));
  });
});
