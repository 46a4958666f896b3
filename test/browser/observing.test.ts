import type { Locator } from "playwright-core";
import { expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { barriersInBoth } from "../support/axe.ts";
import { tokensOf } from "../../page/src/meter/turn-costs.ts";
import { ask, askExample, eventually, idIn, it } from "../support/page-test.ts";
import { variablesPage } from "../support/variables-page.ts";

const figure = (value: number) => new Intl.NumberFormat("en").format(value);

interface Costs {
  readonly usage: { readonly inputTokens: number };
  readonly savings: Readonly<Record<"promptChars" | "inlinePromptChars", number>>;
  readonly cost: { readonly rowsWritten: number };
}

it("the timeline shows events as they happen, newest first", async ({ open, demo }) => {
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

it("a turn's inside is its agent, its model and a waterfall of its calls", async ({
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

it("the meter shows the server's figures, per turn and in total", async ({ open, demo }) => {
  const page = await open(demo.url);
  await askExample(page, /monthly totals of my orders\?/);
  await ask(page, "Summarize my orders.");
  await page.getByRole("button", { name: "Answer again" }).nth(1).waitFor();
  const { messages } = await createClient(demo.url).conversation(idIn(page)).messages();
  const costs = messages
    .filter(({ role }) => role === "assistant")
    .map(({ metadata }) => metadata as unknown as Costs);
  expect(costs).toHaveLength(2);
  await page.getByRole("tab", { name: "Meter" }).click();
  const meter = page.getByRole("region", { name: "Meter" });
  const text = async (of: Locator) => (await of.innerText()).replaceAll(/\s+/g, " ");
  await eventually(async () => expect(await meter.getByRole("listitem").count()).toBe(2));
  for (const [at, { usage, savings, cost }] of costs.entries()) {
    const turn = await text(meter.getByRole("listitem").nth(at));
    const { sent, inline } = tokensOf(savings, usage.inputTokens);
    expect(turn).toContain(
      `Sent to the model ${figure(sent)} tokens ${figure(savings.promptChars)} characters ` +
        `Without references ≈ ${figure(inline)} tokens ${figure(savings.inlinePromptChars)} characters`,
    );
    expect(turn).toContain(`${figure(cost.rowsWritten)} rows written`);
  }
  const [one, other] = costs;
  const rows = (one?.cost.rowsWritten ?? 0) + (other?.cost.rowsWritten ?? 0);
  expect(await text(meter)).toContain(`Rows written ${figure(rows)}`);
  expect(await text(meter)).toMatch(
    /^.*[\d.]+ ?% of the prompt tokens that would have been sent without/,
  );
});
