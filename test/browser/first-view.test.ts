import { describe, expect } from "vitest";
import { page as examplePage } from "../../examples/agents/page.ts";
import { tokensOf } from "../../page/src/meter/turn-costs.ts";
import { createClient } from "../../packages/client/src/client.ts";
import type { TurnMetadata } from "../../src/turn/turn.ts";
import { idIn, it } from "../support/page-test.ts";

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
});
