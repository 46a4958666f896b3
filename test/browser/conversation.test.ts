import { rmSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../../src/client.ts";
import { type BrowserPage, startBrowser, type TestBrowser } from "../support/browser.ts";
import { type ChatCompletions, startChatCompletions } from "../support/chat-completions.ts";
import { startLine } from "../support/line.ts";
import { type RunningMcpServer, startMcpServer, textResult } from "../support/mcp-server.ts";
import { type Server, startServer, temporaryFolder } from "../support/server.ts";

const stateDir = temporaryFolder();
const opened: BrowserPage[] = [];
let endpoint: ChatCompletions;
let mail: RunningMcpServer;
let server: Server;
let browser: TestBrowser;

beforeAll(async () => {
  endpoint = await startChatCompletions();
  mail = await startMcpServer([
    { name: "send_mail", answer: ({ text }) => textResult(`sent ${String(text)}`) },
  ]);
  const tools = { send_mail: { approval: true } };
  server = await startServer({
    STATE_DIR: stateDir,
    MODEL: "openai-compatible:test-model",
    MODEL_BASE_URL: endpoint.url,
    MODEL_API_KEY: "key",
    MCP_SERVERS: JSON.stringify([{ name: "mail", url: mail.url, tools }]),
  });
  browser = await startBrowser();
});

afterEach(async () => {
  const pages = opened.splice(0);
  await Promise.all(pages.map((page) => page.close()));
  // Not a word of complaint, and nobody else was asked for anything.
  expect(pages.flatMap(({ complaints }) => complaints)).toEqual([]);
  const foreign = pages
    .flatMap(({ asked }) => asked)
    .filter((url) => !/^(?:blob|data):/.test(url) && new URL(url).origin !== server.url);
  expect(foreign).toEqual([]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await endpoint?.down();
  await mail?.down();
  rmSync(stateDir, { recursive: true, force: true });
});

async function openPage(path = "/"): Promise<Page> {
  const one = await browser.open(server.url + path);
  opened.push(one);
  return one.page;
}

/** Of its conversation. */
function idIn(page: Page): string {
  return new URL(page.url()).hash.replace("#/c/", "");
}

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(question);
  await page.keyboard.press("Enter");
}

const comparison = [
  {
    kind: "calls",
    calls: [
      { name: "get_weather", input: { location: "London" } },
      { name: "get_weather", input: { location: "Paris" } },
    ],
  },
  {
    kind: "calls",
    calls: [
      {
        name: "compare_weather",
        input: { city1: "$get_weather_london", city2: "$get_weather_paris" },
      },
    ],
  },
  {
    kind: "text",
    text: "In $get_weather_london.city and in $get_weather_paris.city:\n\n$compare_weather_1.summary",
  },
] as const;

describe("a conversation", () => {
  it("begins with an example, and shows calls, values, and where they come from", async () => {
    endpoint.play(comparison);
    const page = await openPage();
    await page.getByRole("button", { name: /Compare the weather in Oslo and Cairo/ }).click();
    const answer = page.getByRole("article", { name: "Answer" });
    await answer.getByText("In London and in Paris:").waitFor();
    expect(await answer.getByRole("region").allInnerTexts()).toEqual([
      expect.stringContaining("get_weather(location: London) → $get_weather_london"),
      expect.stringContaining("get_weather(location: Paris) → $get_weather_paris"),
      expect.stringMatching(
        /^compare_weather\(city1: \$get_weather_london, city2: \$get_weather_p/,
      ),
    ]);
    await page.getByRole("tab", { name: "Variables 3" }).waitFor();

    await answer.getByRole("button", { name: "London", exact: true }).focus();
    const card = page.getByRole("group", { name: "Variable" });
    expect(await card.innerText()).toMatch(
      /\$get_weather_london\.city\s+version 1\s+from get_weather\s+object/,
    );
    await page.keyboard.press("Escape");
    await card.waitFor({ state: "hidden" });

    await answer.getByRole("switch", { name: "As the model wrote it" }).click();
    await answer.getByText("In $get_weather_london.city and in").waitFor();
  });

  it("shows beside what the model wrote what the tool received", async () => {
    endpoint.play(comparison);
    const page = await openPage();
    await ask(page, "Compare them.");
    await page.getByText("In London and in Paris:").waitFor();
    await page.getByRole("button", { name: /^compare_weather/ }).click();
    const card = page.getByRole("region", { name: "Call of compare_weather" });
    const wrote = card.getByLabel("city1, as the model wrote it");
    expect(await wrote.innerText()).toBe('"$get_weather_london"');
    const received = card.getByLabel("city1, as the tool received it");
    expect(JSON.parse(await received.innerText())).toMatchObject({ city: "London" });
    const note = card.getByText("has changed since this call");
    expect(await note.count()).toBe(0);

    const { variables } = createClient(server.url).conversation(idIn(page));
    await variables.put("get_weather_london", { city: "Elsewhere" });
    await card.getByText("Elsewhere").waitFor();
    expect(await note.innerText()).toMatch(/^\$get_weather_london has changed/);
    await page.getByRole("button", { name: "London", exact: true }).focus();
    const facts = page.getByRole("group", { name: "Variable" });
    expect(await facts.innerText()).toMatch(/version 1\s.*changed since: 1 newer version/s);
  });

  it("goes on when the page is loaded again in the middle of an answer", async () => {
    const held = Promise.withResolvers<void>();
    endpoint.play([{ kind: "text", text: "The first half, the second one.", hold: held.promise }]);
    const page = await openPage();
    await ask(page, "Slowly, please.");
    const answer = page.getByRole("article", { name: "Answer" });
    await answer.getByText("The first half").waitFor();
    await page.reload();
    await answer.getByText("The first half").waitFor();
    expect(await answer.innerText()).not.toContain("second");
    held.resolve();
    await answer.getByText("The first half, the second one.").waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    expect(endpoint.requests).toHaveLength(1);
    expect(await page.getByRole("article").count()).toBe(2);

    const [resumed] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith("/stream")),
      page.reload(),
    ]);
    expect(resumed.status()).toBe(204);
    await answer.getByText("The first half, the second one.").waitFor();
    await page.getByRole("tab", { name: "Events" }).click();
    await page.getByText("Turn is done").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  it("stops an answer where the server writes it", async () => {
    endpoint.play([{ kind: "text", text: "Without an end.", hold: new Promise(() => undefined) }]);
    const page = await openPage();
    await ask(page, "Go on for ever.");
    await page.getByText("Without").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "Send" }).waitFor();
    const about = await fetch(`${server.url}/conversations/${idIn(page)}`);
    expect(await about.json()).toMatchObject({ status: "idle", messages: 2 });
    await page.getByText("Stopped").waitFor();
  });

  it("answers an edited question anew, and an answer again", async () => {
    endpoint.play(["One.", "Two.", "Three.", "Four."].map((text) => ({ kind: "text", text })));
    const page = await openPage();
    const sent: number[] = [];
    page.on("request", (request) => {
      const body = request.postDataJSON() as { readonly messages?: readonly unknown[] } | null;
      if (body?.messages !== undefined) sent.push(body.messages.length);
    });
    await ask(page, "First");
    await page.getByText("One.").waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Your message").fill("Second");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("Two.").waitFor();
    await page.getByRole("button", { name: "Answer again" }).click();
    await page.getByText("Three.").waitFor();
    expect(await page.getByRole("article").allInnerTexts()).toEqual([
      expect.stringContaining("Second"),
      expect.stringContaining("Three."),
    ]);
    await ask(page, "Third");
    await page.getByText("Four.").waitFor();
    // The server has the others.
    expect(sent).toEqual([1, 1, 1, 1]);
  });

  it("asks before a call that waits, and shows what would run", async () => {
    const calls = [{ name: "send_mail", input: { text: "In $get_weather_london.city" } }];
    const london = comparison[0].calls.slice(0, 1);
    endpoint.play([
      { kind: "calls", calls: london },
      { kind: "calls", calls },
      { kind: "text", text: "It is sent." },
      { kind: "calls", calls },
      { kind: "text", text: "Then not." },
    ]);
    const page = await openPage();
    await ask(page, "Send it.");
    const card = page.getByRole("region", { name: "Call of send_mail" });
    const input = card.getByLabel("Input with its values");
    expect(JSON.parse(await input.innerText())).toEqual({ text: "In London" });
    expect(mail.calls).toEqual([]);
    await card.getByRole("button", { name: "Approve" }).click();
    await page.getByText("It is sent.").waitFor();
    expect(mail.calls).toMatchObject([{ input: { text: "In London" } }]);

    await ask(page, "Once more.");
    await card.nth(1).getByLabel("Reason, if you like").fill("Enough.");
    await card.nth(1).getByRole("button", { name: "Deny" }).click();
    await page.getByText("Then not.").waitFor();
    expect(mail.calls).toHaveLength(1);
    await card.nth(1).getByRole("button", { expanded: false }).click();
    await card.nth(1).getByText("Enough.").waitFor();
  });

  it("shows a plan that the model proposes", async () => {
    const calls = [
      { _tool: "get_weather", location: "London", _outputPath: "†state.here" },
      { _tool: "get_weather", location: "Paris", _outputPath: "†state.there" },
      { _tool: "compare_weather", city1: "†state.here", city2: "†state.there" },
    ];
    endpoint.play([
      { kind: "calls", calls: [{ name: "propose_plan", input: { name: "Both", calls } }] },
      { kind: "text", text: "Approve it." },
    ]);
    const page = await openPage();
    await ask(page, "Plan it.");
    await page.getByText("Approve it.").waitFor();
    const card = page.getByRole("region", { name: "Call of propose_plan" });
    expect(await card.innerText()).toMatch(/^propose_plan\s*Both\s*3 calls\s/);
    const plans = page.getByRole("tabpanel", { name: "Plans" });
    await plans.getByRole("heading", { name: "Both" }).waitFor();
    // Who writes goes on writing.
    expect(await page.evaluate("document.activeElement.tagName")).toBe("TEXTAREA");
    await plans.getByRole("button", { name: "All plans" }).click();
    await plans.getByRole("heading", { name: "Both" }).waitFor({ state: "hidden" });
    await page.getByRole("tab", { name: "Events" }).click();
    await card.getByRole("button", { name: "Open the plan" }).click();
    await plans.getByRole("heading", { name: "Both" }).waitFor();
    await card.getByRole("button", { expanded: false }).click();
    const written = card.getByLabel("calls, as the model wrote it");
    expect(JSON.parse(await written.innerText())).toEqual(calls);
  });

  it("goes on by itself when the connection is lost in the middle of an answer", async () => {
    const held = Promise.withResolvers<void>();
    endpoint.play([{ kind: "text", text: "The first half, the second one.", hold: held.promise }]);
    const line = await startLine(server.url);
    // A browser complains of what it cannot reach, as it should.
    const { page, close } = await browser.open(line.url);
    await ask(page, "Slowly, please.");
    const answer = page.getByRole("article", { name: "Answer" });
    await answer.getByText("The first half").waitFor();
    line.cut();
    const note = page.getByText("The connection is lost. Connecting again");
    await note.waitFor();
    line.mend();
    await note.waitFor({ state: "hidden" });
    expect(await answer.innerText()).not.toContain("second");
    held.resolve();
    await answer.getByText("The first half, the second one.").waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    expect(await page.getByRole("log").getByRole("alert").count()).toBe(0);
    // What the panels could not read meanwhile they read again.
    await page.getByRole("alert").first().waitFor({ state: "hidden" });
    expect(endpoint.requests).toHaveLength(1);
    await close();
    await line.down();
  });

  it("shows what has been asked and answered elsewhere", async () => {
    endpoint.play(["Here.", "There."].map((text) => ({ kind: "text", text })));
    const page = await openPage();
    await ask(page, "From the page.");
    await page.getByText("Here.", { exact: true }).waitFor();
    await createClient(server.url).conversation(idIn(page)).send("A program").text();
    await page.getByText("There.", { exact: true }).waitFor();
  });

  it("says in words what has gone wrong, and tries again", async () => {
    const body = JSON.stringify({ error: { message: "No such model." } });
    endpoint.play([{ kind: "status", status: 404, body }]);
    const page = await openPage();
    await ask(page, "Well?");
    const trouble = page.getByRole("alert");
    await trouble.waitFor();
    expect(await trouble.innerText()).toMatch(/The model failed\./);
    endpoint.play([{ kind: "text", text: "Now it works." }]);
    await trouble.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Now it works.").waitFor();
    expect(await page.getByText("Well?").count()).toBe(1);
  });
});
