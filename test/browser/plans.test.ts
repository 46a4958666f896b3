import { describe, expect } from "vitest";
import { createClient } from "../../src/client.ts";
import { it } from "../support/page-test.ts";
import { signedReport } from "../support/page-answers.ts";

describe("a plan", () => {
  it("is approved, run with an input, asks at its gate, and shows its result", async ({
    open,
    demo,
  }) => {
    const id = crypto.randomUUID();
    const { plans } = createClient(demo.url).conversation(id);
    await plans.propose(signedReport, { agent: "orders" });
    const page = await open(`${demo.url}/#/c/${id}`);
    await page.getByRole("tab", { name: "Plans" }).click();
    await page.getByRole("button", { name: /Signed report/ }).click();
    const states = () =>
      page
        .locator(".plans-node")
        .evaluateAll((nodes) => nodes.map((node) => node.getAttribute("aria-label")));
    await page
      .getByRole("button", { name: /^write_report waiting, report, depends on months/ })
      .waitFor();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const input = page.getByLabel("Input of this run, as JSON");
    expect(JSON.parse(await input.inputValue())).toEqual({ currency: "" });
    await input.fill('{"currency": "USD"}');
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const gate = page.getByRole("region", { name: "Gate legal" });
    await gate.getByText("Waits for approvals.legal.").waitFor();
    await page.getByRole("button", { name: /^write_report needs your approval, report/ }).waitFor();
    await page.getByRole("tab", { name: "Plans 1 approval needed" }).waitFor();
    const banner = page.getByRole("status").filter({ hasText: "1 approval needed" });
    await page.getByRole("tab", { name: "Events" }).click();
    await banner.getByRole("button", { name: "Show it" }).click();
    await gate.waitFor();
    // The approval comes first, because the plan waits for it.
    const buttons = await page.locator(".plans-one button").allInnerTexts();
    expect(buttons.indexOf("Approve")).toBeLessThan(buttons.indexOf("Run again"));
    expect(buttons).toContain("Approve");
    await gate.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByRole("button", { name: /^write_report done, report/ }).waitFor();
    await gate.waitFor({ state: "detached" });
    expect(await states()).toEqual([
      "list_orders done, orders",
      "monthly_totals done, months, depends on orders",
      "summarize_orders done, summary, depends on orders",
      "write_report done, report, depends on months, summary",
    ]);
    await page.getByRole("button", { name: /^list_orders done/ }).click();
    const output = page.getByRole("region", { name: "Step orders" });
    await output.getByRole("heading", { name: "Output" }).waitFor();
    await output.getByText("array of 5,000, 779 KB").waitFor();
    await output.getByText(/ord_00001/).waitFor();
    await page.locator(".plans-run").click();
    await page.getByRole("button", { name: /^orders 5,?000 elements/ }).waitFor();
    await output.getByRole("button", { name: "$Signed_report_orders" }).click();
    await page.getByRole("table").getByText("ord_00001").waitFor();
  });

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
