import { describe, expect } from "vitest";
import type { AgentsDescription } from "../../src/edge/page-options.ts";
import { it } from "../support/page-test.ts";

const page: AgentsDescription["page"] = {
  title: "Stockroom",
  lead: "Ask what is there.",
  colors: { accent: { light: "rgb(0, 68, 153)", dark: "rgb(136, 187, 255)" } },
  examples: [{ title: "Oslo", question: "What is the weather in Oslo?", about: "One call." }],
  agent: "orders",
};

describe("an application's page", () => {
  it("has its own title, text, colour, questions and default agent", async ({ open, demo }) => {
    const shown = await open(`${demo.url}/health`);
    await shown.emulateMedia({ colorScheme: "light" });
    await shown.route("**/agents", async (route) => {
      const response = await route.fetch();
      const json = { ...((await response.json()) as AgentsDescription), page };
      return route.fulfill({ response, json });
    });
    await shown.goto(demo.url);
    await shown.getByRole("heading", { name: "Stockroom" }).waitFor();
    await shown.getByText("Ask what is there.").waitFor();
    expect(await shown.title()).toBe("Stockroom");
    expect(await shown.getByLabel("Agent").inputValue()).toBe("orders");
    const example = shown.getByRole("button", { name: /What is the weather in Oslo/ });
    const accent = "getComputedStyle(document.documentElement).getPropertyValue('--accent')";
    expect(await shown.evaluate(accent)).toBe("light-dark(rgb(0, 68, 153), rgb(136, 187, 255))");
    await shown.getByText("5,000 orders").waitFor({ state: "detached" });
    await example.click();
    await shown.getByRole("button", { name: "Answer again" }).waitFor();
  });

  it("says that the demo model is made of rules if no model is set", async ({ open, demo }) => {
    const shown = await open(demo.url);
    await shown.getByText("The demo model answers: rules, not a language model.").waitFor();
  });
});
