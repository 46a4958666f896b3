import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { barriersInBoth, barriersOn } from "../support/axe.ts";
import { comparison, comparisonSaid, signedReport } from "../support/page-answers.ts";
import { ask, askExample, cardOf, eventually, idIn, it } from "../support/page-test.ts";
import { listed, records } from "../support/variables-page.ts";

const DESK = { width: 1_280, height: 800, theme: "light" } as const;
const PHONE = { width: 390, height: 844, theme: "dark", touch: true } as const;
const sizes = [
  { name: "at a desk", size: DESK },
  { name: "on a phone", size: PHONE },
] as const;

/** The sizes of all texts, and whether those of the side panel have WCAG's enhanced contrast, as a script. */
const TEXTS = `(async () => {
  const shown = [...document.querySelectorAll("body *")].filter((one) => one.checkVisibility());
  const sizes = new Set(shown.map((one) => parseInt(getComputedStyle(one).fontSize)));
  const greys = [...document.querySelectorAll(".item-facts, .item-line time, .variables-hint, .meter-note")];
  const rule = { runOnly: ["color-contrast-enhanced"] };
  const { violations } = greys.length === 0 ? { violations: [] } : await axe.run(greys, rule);
  return [...[...sizes].filter((one) => ![12, 14, 16, 19, 26, 38].includes(one)), ...violations.map(({ id }) => id)];
})()`;

/** Records the accessibility barriers (on a desktop in both themes) and the overflow of each state of the page. */
function watching(page: Page, size: (typeof sizes)[number]["size"]) {
  const barriersOf = size === DESK ? barriersInBoth : barriersOn;
  const faults: string[] = [];
  const look = async (what: string) => {
    for (const barrier of await barriersOf(page)) faults.push(`${what}: ${barrier}`);
    const odd = await page.evaluate<readonly string[]>(TEXTS);
    faults.push(...odd.map((one) => `${what}: ${one}`));
    const overflow = await page.evaluate<number>(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    if (overflow > 0) faults.push(`${what}: ${overflow} px too wide`);
  };
  return { faults, look };
}

/** Opens a view beside the messages, or the messages. */
async function show(page: Page, view: string): Promise<void> {
  const { width = 0 } = page.viewportSize() ?? {};
  if (width < 800) {
    await page.getByRole("navigation", { name: "Views" }).getByRole("button", { name: view }).tap();
  } else if (view !== "Conversation") {
    await page.getByRole("tab", { name: view }).click();
  }
}

const long = "a_very_long_word_without_a_single_break_".repeat(6);

describe.each(sizes)("the $name page is accessible and fits", ({ size }) => {
  it("in a conversation", async ({ open, scripted }) => {
    const question = `What fits in ${size.width}? ${long}`;
    const table = `| ${"a long head | ".repeat(12)}\n|${"-|".repeat(12)}\n| ${"cell | ".repeat(12)}`;
    scripted.answer(question, ...comparison);
    const code = `\`\`\`\n${long}\n\`\`\``;
    scripted.answer("And this?", {
      kind: "text",
      text: `# Head\n\n${table}\n\n${code}\n\n> ${long}\n\n1. [x](https://example.com/${long}) \`${long}\`\n\nDone.`,
    });
    const page = await open(scripted.url, size);
    const { faults, look } = watching(page, size);
    await page.getByText("Tools return variables.").waitFor();
    await look("first run");
    await ask(page, question);
    await page.getByText(comparisonSaid).waitFor();
    await page.getByRole("button", { name: "Answer again" }).waitFor();
    await page.getByRole("button", { name: /^compare_weather/ }).click();
    await page.getByLabel("city1, as the tool received it").waitFor();
    await cardOf(page, page.getByRole("button", { name: "London", exact: true }));
    await look("answered");
    await page.keyboard.press("Escape");
    await ask(page, "And this?");
    await page.getByText("Done.").waitFor();
    await page.getByRole("button", { name: "Edit" }).last().click();
    await page.getByRole("button", { name: "More" }).click();
    await look("long words, an edited question, the menu");
    await page.keyboard.press("Escape");
    for (const view of ["Variables", "Events", "Meter"]) {
      await show(page, view);
      await look(view);
    }
    expect(faults).toEqual([]);
  });

  it("with an approval and an error", async ({ open, scripted }) => {
    const approval = `May it go to ${size.width}?`;
    const trouble = `Does it fail at ${size.width}?`;
    const calls = [{ name: "send_mail", input: { text: long } }];
    scripted.answer(approval, { kind: "calls", calls });
    const body = JSON.stringify({ error: { message: long } });
    scripted.answer(trouble, { kind: "status", status: 404, body });
    const page = await open(scripted.url, size);
    const { faults, look } = watching(page, size);
    await ask(page, approval);
    await page.getByRole("button", { name: "Approve" }).waitFor();
    await look("approval");
    await page.getByRole("button", { name: "Conversations" }).click();
    const list = page.getByRole("navigation", { name: "Conversations" });
    if (size === DESK) await page.getByRole("button", { name: "Conversations" }).click();
    await list.getByRole("button", { name: "New conversation" }).waitFor();
    await look("list of conversations");
    await list.getByRole("button", { name: "New conversation" }).click();
    await page.getByText("Tools return variables.").waitFor();
    await ask(page, trouble);
    await page.getByRole("alert").waitFor();
    await look("trouble");
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog").waitFor();
    await look("question");
    expect(faults).toEqual([]);
  });

  it("with every kind of variable", async ({ open, demo }) => {
    const id = crypto.randomUUID();
    const { variables } = createClient(demo.url).conversation(id);
    await variables.put("rows", [...records(50)], { ttl: 900, description: long });
    await variables.put("tree", { a: { b: [1, long] }, c: null });
    await variables.put(long.slice(0, 60), long, { visibility: "sealed" });
    const page = await open(`${demo.url}/#/c/${id}`, size);
    const { faults, look } = watching(page, size);
    await show(page, "Variables");
    await listed(page, "rows").waitFor();
    await look("list");
    await listed(page, "rows").click();
    await page.getByRole("table").getByText("row 5", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Settings" }).click();
    await look("table, settings");
    await page.getByRole("button", { name: "Chart" }).click();
    await page.locator(".chart-line, .chart-bars").first().waitFor();
    await look("chart");
    await page.getByRole("button", { name: "All variables" }).click();
    await listed(page, "tree").click();
    await page.locator(".variables-fold").first().click();
    await look("tree");
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("The value of $tree").fill("{");
    await look("editor");
    await page.getByRole("button", { name: "All variables" }).click();
    await listed(page, long.slice(0, 60)).click();
    await page.getByRole("button", { name: "Download" }).waitFor();
    await look("text");
    expect(faults).toEqual([]);
  });

  it("with a plan", async ({ open, demo }) => {
    const id = crypto.randomUUID();
    const { plans } = createClient(demo.url).conversation(id);
    const { id: plan } = await plans.propose(signedReport, { agent: "orders" });
    const page = await open(`${demo.url}/#/c/${id}`, size);
    const { faults, look } = watching(page, size);
    await show(page, "Plans");
    await page.getByRole("button", { name: /Signed report/ }).waitFor();
    await look("list");
    await page.getByRole("button", { name: /Signed report/ }).click();
    await page.getByRole("button", { name: /^list_orders / }).click();
    await look("proposed");
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const input = '{"currency":"USD","id":568105584918935294}';
    await page.getByLabel("Input of this run, as JSON").fill(input);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const gate = page.getByRole("region", { name: "Gate legal" });
    await gate.getByRole("button", { name: "Approve", exact: true }).waitFor();
    await look("gate");
    // With its digits (IvanMurzak/Unity-MCP#754).
    const stored = await fetch(`${demo.url}/conversations/${id}/plans/${plan}`);
    expect(await stored.text()).toContain(input);
    expect(faults).toEqual([]);
  });
});

it("a phone shows one view at a time, and the list in a drawer", async ({ open, demo }) => {
  const page = await open(demo.url, PHONE);
  await page.getByRole("button", { name: /Compare the weather/ }).tap();
  await page.getByRole("button", { name: "Answer again" }).waitFor();
  const field = page.getByLabel("Message", { exact: true });
  expect(await field.isVisible()).toBe(true);
  await show(page, "Variables");
  await listed(page, "compare_weather_1").waitFor();
  expect(await field.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Conversations" }).tap();
  const list = page.getByRole("navigation", { name: "Conversations" });
  const own = list.locator(`[href="#/c/${idIn(page)}"]`);
  await own.waitFor();
  await page.keyboard.press("Escape");
  await list.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Conversations" }).tap();
  await own.tap();
  await list.waitFor({ state: "hidden" });
});

it("the theme is the system's until one is chosen, which is stored", async ({ open, demo }) => {
  const page = await open(demo.url, { theme: "dark" });
  const ground = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
  await page.getByRole("button", { name: "Use the light theme" }).waitFor();
  const dark = await ground();
  await page.getByRole("button", { name: "Use the light theme" }).click();
  await eventually(async () => expect(await ground()).not.toBe(dark));
  const light = await ground();
  await page.reload();
  await page.getByRole("button", { name: "Use the dark theme" }).waitFor();
  expect(await ground()).toBe(light);
  const system = await open(demo.url);
  await system.getByRole("button", { name: "Use the dark theme" }).waitFor();
  await system.emulateMedia({ colorScheme: "dark" });
  await system.getByRole("button", { name: "Use the light theme" }).waitFor();
});

/** The animation that an element has, which asks for one. */
const ANIMATION = `(() => {
  const one = document.body.appendChild(document.createElement("p"));
  one.style.animation = "chat-pulse 1s infinite";
  const { animationName } = getComputedStyle(one);
  one.remove();
  return animationName;
})()`;

it("nothing moves for a person who wants less motion", async ({ open, demo }) => {
  const page = await open(demo.url);
  expect(await page.evaluate(ANIMATION)).toBe("none");
  await page.emulateMedia({ reducedMotion: "no-preference" });
  expect(await page.evaluate(ANIMATION)).toBe("chat-pulse");
});

it("a page whose local storage is broken works without it", async ({ open, demo }) => {
  const page = await open(demo.url);
  for (const broken of ['{"a":', '{"a":1}', "[1,null]"]) {
    await page.evaluate(
      `for (const name of ["theme", "pins", "agents"]) localStorage["byref-" + name] = ${JSON.stringify(broken)}`,
    );
    await page.reload();
    await page.getByRole("button", { name: "Use the dark theme" }).waitFor();
  }
  await askExample(page, /Compare the weather/);
  await page.getByRole("button", { name: "Use the dark theme" }).click();
  await page.reload();
  await page.getByRole("button", { name: "Use the light theme" }).waitFor();
});

/** True if the last character of an element's text is left of the first one. */
const endsLeft = (selector: string) => `(() => {
  const text = document.createTreeWalker(document.querySelector("${selector}"), 4).nextNode();
  const leftOf = (at) => {
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getBoundingClientRect().left;
  };
  return leftOf(text.length - 1) < leftOf(0);
})()`;

it("text from right to left keeps its order beside English", async ({ open, scripted }) => {
  const page = await open(scripted.url);
  const arabic = "مرحبا بالعالم!";
  scripted.answer(arabic, { kind: "text", text: arabic });
  await ask(page, arabic);
  await page.locator(".message-answer p").waitFor();
  expect(await page.evaluate(endsLeft(".message-question"))).toBe(true);
  expect(await page.evaluate(endsLeft(".message-answer p"))).toBe(true);
  expect(await page.evaluate(endsLeft(".model-note, .conversations-brand"))).toBe(false);
});
