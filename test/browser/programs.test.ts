import { expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { barriersInBoth } from "../support/axe.ts";
import { ask, eventually, it } from "../support/page-test.ts";

const csv = (row: string) => `id,customer,country,status,currency,total,items,placed_at\n${row}\n`;
const SPRING = csv("ord_1,Ada,DE,paid,EUR,40,1,2025-03-01");
const SUMMER = csv('ord_2,"Ito, J",JP,paid,EUR,50,1,2025-07-09');

const run = { name: "Run", exact: true } as const;

it("a program is saved under an answer, and run with another CSV", async ({ open, demo }) => {
  const id = crypto.randomUUID();
  const { programs, conversation } = createClient(demo.url);
  const body = new Blob([SPRING], { type: "text/csv" });
  await conversation(id).variables.put("sales", body);
  const page = await open(`${demo.url}/#/c/${id}`, { forgives: /status of 4/ });
  await page.getByLabel("Agent").selectOption("orders");
  await ask(page, "What are the monthly totals of $sales?");
  await page.getByRole("button", { name: "Save as program" }).click();
  const saving = page.getByRole("dialog", { name: "Save as program" });
  await saving.getByRole("button", { name: /^monthly_totals / }).click();
  await saving.getByText("Each run may be given other sales.").waitFor();
  const [name, save] = [saving.getByLabel("Name"), saving.getByRole("button", { name: "Save" })];
  for (const refused of ["<b>x</b>", "a/b", "..", "Summe für März"]) {
    await name.fill(refused);
    await saving.getByText("Use the letters A to Z").waitFor();
    expect(await save.isDisabled()).toBe(true);
  }
  const program = `sums of ${id.slice(0, 8)}`;
  await name.fill(program);
  expect(await barriersInBoth(page)).toEqual([]);
  await save.click();
  const kept = program.replaceAll(" ", "-");
  const shown = page.getByRole("article", { name: `Program ${kept}` });
  await shown.getByText("Saved as version 1.").waitFor();

  const sales = shown.getByLabel("sales", { exact: true });
  await sales.fill('a,b\n1,"2');
  await shown.getByRole("button", run).click();
  await shown.getByText("sales is neither JSON nor a table").waitFor();
  await sales.fill("[1]");
  await shown.getByRole("button", run).click();
  await shown.getByText(/input\.sales/).waitFor();
  const file = { name: "summer.csv", mimeType: "text/csv", buffer: Buffer.from(SUMMER) };
  await shown.getByLabel("File for sales").setInputFiles(file);
  await shown.getByRole("button", run).click();
  await shown.getByRole("row", { name: "2025-07 1 50" }).waitFor();
  expect(await barriersInBoth(page)).toEqual([]);

  await page.reload();
  await page.getByRole("button", { name: "Programs" }).click();
  await page.getByRole("button", { name: new RegExp(`^${kept} `) }).click();
  await shown.getByRole("button", run).click();
  await shown.getByRole("row", { name: "2025-03 1 40" }).waitFor();
  expect((await programs.runs(kept)).runs.map(({ status }) => status)).toEqual(["done", "done"]);
  await shown.getByRole("link", { name: "Open its conversation" }).click();
  await page.getByRole("heading", { name: kept }).waitFor();
});

it("a program keeps the digits that are typed, and waits for a person", async ({ open, demo }) => {
  const { programs } = createClient(demo.url);
  const name = `gated-${crypto.randomUUID().slice(0, 8)}`;
  const text = { type: "string", title: "<b>Title</b>", description: "<img src=x>" };
  const number = { type: "number", default: 0.1 };
  const others = { kind: { enum: ["a", 2] }, on: { type: "boolean" }, more: {} };
  const input = { type: "object", properties: { text, number, ...others }, required: ["text"] };
  const said = "†input.text|†input.number|†input.kind|†input.on|†input.more";
  const about = { _outputPath: "†state.said", _after: ["†approvals.boss"] };
  const calls = [{ _tool: "write_answer", _id: "said", text: said, ...about }];
  await programs.put(name, { input, calls });
  const page = await open(demo.url, { forgives: /status of 4/ });
  const shown = page.getByRole("article", { name: `Program ${name}` });
  const show = async (which = name) => {
    await page.getByRole("button", { name: "Programs" }).click();
    await page.getByRole("button", { name: new RegExp(`^${which} `) }).click();
  };
  await show();
  await shown.getByText("<b>Title</b>: <img src=x>").waitFor();
  await shown.getByLabel("text", { exact: true }).fill("a text");
  await shown.getByLabel("number").fill("123456789012345678.90");
  await shown.getByLabel("kind").selectOption("2");
  await shown.getByLabel("on", { exact: true }).selectOption("true");
  await shown.getByLabel("more", { exact: true }).fill('{"id": 9007199254740993}');
  await shown.getByRole("button", run).click();
  await shown.getByRole("link", { name: "Decide in its conversation" }).waitFor();
  await page.reload();
  await show();
  await shown.getByRole("button", { name: /^needs your approval/ }).click();
  await shown.getByRole("link", { name: "Decide in its conversation" }).click();
  await page.getByRole("button", { name: "Show it" }).click();
  const gate = page.getByRole("region", { name: "Gate boss" });
  await gate.getByRole("button", { name: "Approve", exact: true }).click();
  await gate.waitFor({ state: "detached" });
  await show();
  await shown.getByRole("button", { name: /^done/ }).click();
  await shown.getByText('a text|123456789012345678.90|2|true|{"id":9007199254740993}').waitFor();
  const broken = `broken-${name}`;
  await programs.put(broken, { calls: [{ _tool: "query_variables", sql: "SELECT nope" }] });
  const { id, endedAt = "" } = await programs.run(broken);
  await page.reload();
  await show(broken);
  await page.getByRole("button", { name: /^failed/ }).click();
  await page.getByRole("button", { name: "Retry" }).click();
  await eventually(async () =>
    expect((await programs.getRun(broken, id)).endedAt).not.toBe(endedAt),
  );
});
