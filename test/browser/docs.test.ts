import { execFileSync } from "node:child_process";
import { expect } from "vitest";
import { barriersInBoth } from "../support/axe.ts";
import { it, KEY } from "../support/page-test.ts";

it("the API page sends a call, and its curl command does the same", async ({ open, demo }) => {
  const page = await open(`${demo.url}/docs/`);
  const trying = (call: string) => page.locator("details", { hasText: `Try ${call}` }).first();
  const id = `docs-${crypto.randomUUID()}`;
  const ask = trying("POST /conversations/{id}/messages");
  await ask.locator("summary").click();
  await ask.getByLabel("id", { exact: true }).fill(id);
  await ask.getByLabel("accept").selectOption("text/plain");
  await ask.getByLabel("Body").fill('{"message": "What\'s the weather in NYC?"}');
  expect(await barriersInBoth(page)).toEqual([]);
  await ask.getByRole("button", { name: "Send POST" }).click();
  const answer = ask.getByRole("log", { name: "Answer" });
  await answer.getByText(/^200 text\/plain[^]*New York/).waitFor();

  const curl = await ask.getByLabel("As a curl command").innerText();
  expect(execFileSync("bash", ["-c", `${curl} -s`], { encoding: "utf8" })).toContain("New York");

  const read = trying("GET /conversations/{id}/variables/{name}");
  await read.locator("summary").click();
  await read.getByLabel("id", { exact: true }).fill(id);
  await read.getByLabel("?path").fill(".city");
  await read.getByRole("button", { name: "Send GET" }).click();
  await read
    .getByRole("log")
    .getByText(/^200[^]*New York/)
    .waitFor();
  const line = await read.getByLabel("As a curl command").innerText();
  expect(execFileSync("bash", ["-c", `${line} -s`], { encoding: "utf8" })).toContain("New York");
});

it("the API page stops an endless stream, and hides the key that it sends", async ({
  open,
  guarded,
}) => {
  const page = await open(`${guarded.url}/docs/`, { forgives: /401/ });
  const list = page.locator("details", { hasText: "Try GET /agents" }).first();
  await list.locator("summary").click();
  await list.getByRole("button", { name: "Send GET" }).click();
  await list.getByText(/^401/).waitFor();
  await page.getByLabel("Key, where this server requires one").fill(KEY);
  await list.getByRole("button", { name: "Send GET" }).click();
  await list.getByText(/^200/).waitFor();

  const events = page.locator("details", { hasText: "Try GET /conversations/{id}/events" });
  await events.locator("summary").click();
  const curl = await events.getByLabel("As a curl command").innerText();
  expect(curl).toContain('-H "authorization: Bearer $BYREF_KEY"');
  expect(await page.innerText("body")).not.toContain(KEY);
  await events.getByLabel("accept").selectOption("text/event-stream");
  await events.getByRole("button", { name: "Send GET" }).click();
  await events.getByRole("button", { name: "Stop" }).click();
  await events.getByText("Stopped.").or(events.getByText(/^404/)).waitFor();
});
