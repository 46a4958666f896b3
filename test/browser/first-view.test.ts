import { describe, expect } from "vitest";
import { page as examplePage } from "../../examples/agents/page.ts";
import { tokensOf } from "../../page/src/meter/turn-costs.ts";
import { createClient } from "../../packages/client/src/client.ts";
import type { TurnMetadata } from "../../src/turn/turn.ts";
import { eventually, idIn, it } from "../support/page-test.ts";

const figure = (value: number) => new Intl.NumberFormat("en").format(value);
const [orders] = examplePage.examples;

describe("the first view", () => {
  it("starts with the orders, and shows their measured token counts beside the headline", async ({
    open,
    demo,
  }) => {
    const page = await open(demo.url);
    const bars = page.getByRole("figure");
    await bars.getByText("5,000 orders, tokens").waitFor();
    const { sent = 0, withoutReferences = 0 } = orders?.measured ?? {};
    expect((await bars.locator("dd").allInnerTexts()).filter((text) => text !== "")).toEqual([
      figure(sent),
      figure(withoutReferences),
    ]);
    const title = await page.getByRole("heading", { name: "Tools return" }).boundingBox();
    const beside = await bars.boundingBox();
    if (title === null || beside === null) throw new Error("The first view is out of sight.");
    expect(beside.x).toBeGreaterThan(title.x + title.width);
    const first = page.locator(".first-run-card").first();
    expect(await first.innerText()).toContain(orders?.question);

    await first.click();
    await page.getByRole("button", { name: "Answer again" }).waitFor();
    const { messages } = await createClient(demo.url).conversation(idIn(page)).messages();
    const { savings, usage } = (messages.at(-1) as { readonly metadata?: unknown })
      .metadata as TurnMetadata;
    const measured = tokensOf(savings, usage.inputTokens);
    const isNear = (shown: number, real: number) => Math.abs(shown / real - 1) < 0.05;
    expect(measured).toSatisfy(() => isNear(sent, measured.sent));
    expect(measured).toSatisfy(() => isNear(withoutReferences, measured.inline));
  });

  it("says what will appear beside the conversation, and accepts a file there", async ({
    open,
    demo,
  }) => {
    const page = await open(demo.url);
    const panel = page.getByRole("region", { name: "Variables" });
    await panel.getByText("Tool results appear here by name").waitFor();
    const dataTransfer = await page.evaluateHandle<unknown>(`(() => {
      const carried = new DataTransfer();
      carried.items.add(new File(["city,total\\nOslo,3\\nRome,4\\n"], "sales.csv"));
      return carried;
    })()`);
    await panel.dispatchEvent("dragover", { dataTransfer });
    await panel.dispatchEvent("drop", { dataTransfer });
    await panel.getByText("2 elements").waitFor();
    await panel.getByText("Tool results appear here by name").waitFor({ state: "detached" });
  });
});

describe("after an answer", () => {
  it("examples are still offered, with two questions about the new variables", async ({
    open,
    demo,
  }) => {
    const page = await open(demo.url);
    await page.getByRole("button", { name: /Compare the weather/ }).click();
    await page.getByRole("button", { name: "Answer again" }).waitFor();
    const next = page.getByRole("group", { name: "Follow-up questions" });
    await eventually(async () =>
      expect(await next.getByRole("button").allInnerTexts()).toEqual([
        "Show $compare_weather_1",
        expect.stringMatching(/^Show \$get_weather_/),
      ]),
    );
    await page.getByRole("button", { name: "Example questions" }).click();
    await page.getByRole("menuitem", { name: orders?.question ?? "" }).click();
    await page.getByRole("button", { name: "Answer again" }).nth(1).waitFor();
    await eventually(async () =>
      expect(await next.getByRole("button").allInnerTexts()).toEqual([
        "What is the highest total in $monthly_totals_1?",
        "What is the average total by country in $list_orders_1?",
      ]),
    );
    await next.getByRole("button", { name: "average" }).click();
    await page.getByText("The average of total by country").waitFor();
  });
});
