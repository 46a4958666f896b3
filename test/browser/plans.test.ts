import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { it } from "../support/page-test.ts";
import { signedReport } from "../support/page-answers.ts";

describe("a plan", () => {
  it("is approved and decided in one tab, and the other tab shows it", async ({ open, demo }) => {
    const id = crypto.randomUUID();
    const { plans } = createClient(demo.url).conversation(id);
    const { id: plan } = await plans.propose(signedReport, { agent: "orders" });
    const first = await open(`${demo.url}/#/c/${id}`);
    const second = await open(first.url(), { beside: first });
    for (const page of [first, second]) {
      await page.getByRole("tab", { name: "Plans" }).click();
      await page.getByRole("button", { name: /Signed report/ }).click();
      await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    }
    await first.getByRole("button", { name: "Approve", exact: true }).click();
    await second.getByRole("button", { name: "Run", exact: true }).waitFor();
    await plans.run(plan, { input: { currency: "USD" } }).json();
    const gates = [first, second].map((page) => page.getByRole("region", { name: "Gate legal" }));
    for (const gate of gates) await gate.waitFor();
    await gates[1]?.getByRole("button", { name: "Deny", exact: true }).click();
    for (const gate of gates) await gate.waitFor({ state: "detached" });
  });

  it("is cancelled after a confirmation", async ({ open, demo }) => {
    const id = crypto.randomUUID();
    const { plans } = createClient(demo.url).conversation(id);
    const { id: plan } = await plans.propose(signedReport, { agent: "orders" });
    const page = await open(`${demo.url}/#/c/${id}`);
    await page.getByRole("tab", { name: "Plans" }).click();
    await page.getByRole("button", { name: /Signed report/ }).click();
    const press = async (name: string) => {
      await page.getByRole("button", { name: "Cancel plan" }).click();
      await page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await press("Cancel");
    expect(await plans.get(plan)).toMatchObject({ status: "proposed" });
    await press("Cancel plan");
    await page.getByText("cancelled").first().waitFor();
    expect(await page.getByRole("button", { name: "Approve", exact: true }).count()).toBe(0);
    expect(await plans.get(plan)).toMatchObject({ status: "cancelled" });
    await page.getByRole("tab", { name: "Events" }).click();
    await page.getByText("Plan cancelled").waitFor();
  });

  it("from the past does not open by itself, however slowly the events arrive", async ({
    open,
    demo,
  }) => {
    const id = crypto.randomUUID();
    const { plans } = createClient(demo.url).conversation(id);
    await plans.propose(signedReport, { agent: "orders" });
    await plans.propose(signedReport, { agent: "orders" });
    const page = await open(demo.url);
    await page.addInitScript(slowEvents);
    await page.goto(`${demo.url}/#/c/${id}`);
    await page.reload();
    await page.getByRole("tab", { name: "Events" }).click();
    await page.getByText("Plan proposed").nth(1).waitFor();
    await page.evaluate("new Promise((done) => setTimeout(done, 200))");
    expect(await page.getByRole("tab", { selected: true }).innerText()).toBe("Events");
  });
});

/** The page gets an event every 300 ms. */
const slowEvents = `
  const own = window.fetch;
  window.fetch = async (url, init) => {
    const response = await own(url, init);
    if (!String(url).endsWith("/events")) return response;
    const oneByOne = new TransformStream({
      async transform(chunk, controller) {
        for (const frame of new TextDecoder().decode(chunk).split(/(?<=\\n\\n)/)) {
          controller.enqueue(new TextEncoder().encode(frame));
          await new Promise((done) => setTimeout(done, 300));
        }
      },
    });
    return new Response(response.body.pipeThrough(oneByOne), response);
  };
`;
