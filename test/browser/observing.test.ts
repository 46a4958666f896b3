import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { barriersInBoth } from "../support/axe.ts";
import { tokensOf } from "../../page/src/meter/turn-costs.ts";
import { ask, askExample, eventually, idIn, it } from "../support/page-test.ts";
import { variablesPage } from "../support/variables-page.ts";

const figure = (value: number) => new Intl.NumberFormat("en").format(value);

function never(): never {
  throw new Error("No answer has cost anything.");
}

interface Costs {
  readonly usage: { readonly inputTokens: number };
  readonly savings: Readonly<
    Record<"promptChars" | "inlinePromptChars" | "authoredChars" | "resolvedChars", number>
  >;
  readonly cost: { readonly rowsWritten: number };
}

describe("the timeline", () => {
  it("shows events as they happen, newest first", async ({ open, demo }) => {
    const { page, variables, id } = await variablesPage({ open, demo });
    await page.getByRole("tab", { name: "Events" }).click();
    const events = page.getByRole("region", { name: "Events" });
    await events.getByText("Live", { exact: true }).waitFor();
    await variables.put("rows", [1, 2, 3]);
    await events.getByText(/\$rows saved v1, 7 bytes/).waitFor();
    await variables.put("rows", [1, 2, 3, 4]);
    await events.getByText(/\$rows saved v2, 9 bytes/).waitFor();
    await variables.patch("rows", { pinned: true });
    await events.getByText(/\$rows changed/).waitFor();
    await variables.delete("rows");
    await events.getByText(/\$rows deleted/).waitFor();
    await createClient(demo.url).conversation(id).send("What is the weather in NYC?").text();
    await events.getByText("Turn finished").waitFor();
    const said = (await events.getByRole("listitem").allInnerTexts()).map((text) =>
      text.replace(/^\d\d:\d\d:\d\d\.\d{3}\s+/, "").replaceAll(/\s+/g, " "),
    );
    expect(said).toEqual([
      "Turn finished",
      expect.stringMatching(/^get_weather done/),
      expect.stringMatching(/^\$get_weather_nyc saved v1/),
      expect.stringMatching(/^get_weather called/),
      "Turn started",
      expect.stringMatching(/^\$rows deleted/),
      expect.stringMatching(/^\$rows changed/),
      "$rows saved v2, 9 bytes",
      "$rows saved v1, 7 bytes",
      expect.stringMatching(/^\$first saved/),
    ]);
    await events.getByRole("button", { name: "$get_weather_nyc" }).click();
    await page.getByRole("article", { name: "Variable get_weather_nyc" }).waitFor();
  });
});

describe("a look inside a turn", () => {
  it("shows the agent, the model, and a waterfall of the calls in milliseconds", async ({
    open,
    demo,
  }) => {
    const page = await open(demo.url);
    await page.getByRole("button", { name: /monthly totals of my orders\?/ }).click();
    await page.getByRole("button", { name: "Look inside" }).click();
    const waterfall = page.getByRole("region", { name: "Waterfall" });
    await waterfall.waitFor();
    const chat = createClient(demo.url).conversation(idIn(page));
    const { messages } = await chat.messages();
    const { attempts } = await chat.timeline(messages.at(-1)?.id ?? "");
    const [attempt] = attempts;
    expect(attempt?.activities.map(({ kind, name }) => [kind, name])).toEqual([
      ["model", "demo"],
      ["tool", "list_orders"],
      ["model", "demo"],
      ["tool", "monthly_totals"],
      ["model", "demo"],
    ]);
    const text = (await waterfall.innerText()).replaceAll(/\s+/g, " ");
    expect(text).toContain("Agent orders Model demo (byref)");
    const rows = await waterfall.getByRole("row").allInnerTexts();
    for (const [at, { kind, name, durationMs }] of (attempt?.activities ?? []).entries()) {
      const row = rows[at + 1]?.replaceAll(/\s+/g, " ") ?? "";
      expect(row.startsWith(`${kind} ${name}`)).toBe(true);
      expect(row.endsWith(`${figure(durationMs)} ms`)).toBe(true);
    }
    expect(rows).toHaveLength(6);
    expect(await barriersInBoth(page)).toEqual([]);
    const inside = page.getByRole("region", { name: "Inside a turn" });
    await inside.getByText("What the model is sent").click();
    const tools = inside.getByRole("row").filter({ hasText: "list_orders" });
    await inside.getByText("Characters in the next call of orders").waitFor();
    expect(await tools.last().innerText()).toMatch(/list_orders\s+\d+$/);
  });
});

describe("the meter", () => {
  it("shows the server's figures, per turn and in total", async ({ open, demo }) => {
    const page = await open(demo.url);
    await askExample(page, /monthly totals of my orders\?/);
    await ask(page, "Summarize my orders.");
    await page.getByRole("button", { name: "Answer again" }).nth(1).waitFor();
    const { messages } = await createClient(demo.url).conversation(idIn(page)).messages();
    const costs = messages
      .filter(({ role }) => role === "assistant")
      .map(({ metadata }) => metadata as unknown as Costs);
    expect(costs).toHaveLength(2);
    const sum = (pick: (one: Costs) => number) => costs.map(pick).reduce((a, b) => a + b, 0);

    await page.getByRole("tab", { name: "Meter" }).click();
    const meter = page.getByRole("region", { name: "Meter" });
    const text = async (of = meter) => (await of.innerText()).replaceAll(/\s+/g, " ");
    await eventually(async () => expect(await meter.getByRole("listitem").count()).toBe(2));
    const bars = ({ savings, usage }: Costs) => {
      const { sent, inline } = tokensOf(savings, usage.inputTokens);
      return (
        `Sent to the model ${figure(sent)} tokens ${figure(savings.promptChars)} characters ` +
        `Without references ≈ ${figure(inline)} tokens ${figure(savings.inlinePromptChars)} characters`
      );
    };
    const sent = sum(({ savings }) => savings.promptChars);
    const byValue = sum(({ savings }) => savings.inlinePromptChars);
    const tokens = sum(({ usage }) => usage.inputTokens);
    expect(await text()).toContain(
      `Sent to the model ${figure(tokens)} tokens ${figure(sent)} characters`,
    );
    expect(await text()).toContain(
      `References written ${figure(sum(({ savings }) => savings.authoredChars))} characters ` +
        `Characters they replaced ${figure(sum(({ savings }) => savings.resolvedChars))} characters ` +
        `Rows written ${figure(sum(({ cost }) => cost.rowsWritten))}`,
    );
    const inline = tokensOf({ promptChars: sent, inlinePromptChars: byValue }, tokens).inline;
    const share = (tokens / inline) * 100;
    expect(Number.parseFloat(await text())).toBeCloseTo(share, share < 1 ? 2 : 1);
    expect(await text()).toContain("% of the prompt tokens that would have been sent without");
    for (const [at, one] of costs.entries()) {
      const turn = await text(meter.getByRole("listitem").nth(at));
      expect(turn).toContain(bars(one));
      expect(turn).toContain(`${figure(one.cost.rowsWritten)} rows written`);
      // One clock says it: the server's, in "Look inside".
      expect(turn).not.toMatch(/first token/);
    }
    await page.getByRole("tab", { name: "Variables" }).click();
    const answer = page.getByRole("article", { name: "Answer" }).first();
    const proof = answer.getByRole("region", { name: "What the model read" });
    expect(await text(proof)).toContain(bars(costs[0] ?? never()));
  });
});
