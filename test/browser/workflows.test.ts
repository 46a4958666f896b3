import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { it } from "../support/page-test.ts";
import { workflows } from "../support/workflow-cases.ts";

describe("the graph of each workflow of the specification", () => {
  it("shows and opens the output of each call", async ({ open, scripted }) => {
    const id = crypto.randomUUID();
    const { plans, variables } = createClient(scripted.url).conversation(id);
    const asked: { readonly plan: string; readonly outputs: readonly unknown[] }[] = [];
    for (const { type, text, saved, runs } of workflows()) {
      for (const [name, value] of Object.entries(saved)) await variables.put(name, value);
      const written = type === "application/xml" ? { xml: text } : JSON.parse(text);
      const { id: plan } = await plans.propose(written);
      await plans.approve(plan);
      for (const { input } of runs) await plans.run(plan, { input, keep: false }).json();
      // The newest run is shown.
      asked.push({ plan, outputs: runs.at(-1)?.outputs ?? [] });
    }
    const page = await open(`${scripted.url}/#/c/${id}`);
    await page.getByRole("tab", { name: "Plans" }).click();
    // The newest plan is the first of the list.
    for (const [index, { outputs }] of asked.toReversed().entries()) {
      await page.locator(".plans-open").nth(index).click();
      await page
        .locator(".plans-node")
        .nth(outputs.length - 1)
        .waitFor();
      expect(await shown(page)).toEqual(outputs);
      await page.getByRole("button", { name: "All plans" }).click();
    }
    const { calls } = await plans.get(asked.at(-1)?.plan ?? "");
    await page.locator(".plans-open").first().click();
    for (const [index, { _id, _tool }] of calls.entries()) {
      await page.getByRole("button", { name: `${_tool} done, ${_id}` }).click();
      const details = page.getByRole("region", { name: `Step ${_id}` });
      await details.getByRole("heading", { name: "Output" }).waitFor();
      const [line = ""] = JSON.stringify(asked.at(-1)?.outputs[index]).match(/[\w ]{5,20}/u) ?? [];
      await details.getByText(line).first().waitFor();
    }
  });
});

/** Returns the outputs that the nodes of the graph show, in the order of the calls. */
async function shown(page: Page): Promise<readonly unknown[]> {
  const nodes = await page.locator(".plans-node").all();
  const titles = nodes.map(async (node) => {
    const title = node.locator("title");
    return (await title.count()) === 0 ? undefined : await title.textContent();
  });
  return (await Promise.all(titles)).map(parsed);
}

/** Parses a title as JSON. Text outputs are not quoted and are returned unchanged. */
function parsed(title: string | null | undefined): unknown {
  if (title == null) return undefined;
  try {
    return JSON.parse(title);
  } catch {
    return title;
  }
}
