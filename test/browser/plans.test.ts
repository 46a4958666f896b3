import { describe } from "vitest";
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
});
