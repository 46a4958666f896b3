import { execFileSync } from "node:child_process";
import type { Page, Request } from "playwright-core";
import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { eventually, it as base } from "../support/page-test.ts";

const APP = "page/test/react-app.tsx";

/** Bundles an application with React and `byref/react` into one script. */
function built(): string {
  const options = ["--bundle", "--format=iife", "--jsx=automatic", "--log-level=error"];
  return execFileSync("esbuild", [APP, ...options], { encoding: "utf8", maxBuffer: 64_000_000 });
}

let script: string | undefined;

/** Serves the application from the server's own origin and records its requests. */
const it = base.extend("app", async ({ open }) => {
  script ??= built();
  const document = `<!doctype html><title>App</title><body><script>${script.replaceAll("</script", "<\\/script")}</script>`;
  return async (
    url: string,
    query: Readonly<Record<string, string>>,
    prepare?: (page: Page) => Promise<unknown>,
  ) => {
    const page = await open(`${url}/health`, { forgives: /404|aborted/i });
    const requests: Request[] = [];
    page.on("request", (request) => requests.push(request));
    await page.route("**/react-app*", (route) =>
      route.fulfill({ contentType: "text/html; charset=utf-8", body: document }),
    );
    await prepare?.(page);
    await page.goto(`${url}/react-app?${new URLSearchParams(query)}`);
    const asked = (path: string) =>
      requests.filter((one) => one.method() === "GET" && new URL(one.url()).pathname === path);
    return { page, asked };
  };
});

const text = (page: Page, label: string) => page.getByLabel(label, { exact: true }).innerText();
const shows = (page: Page, label: string, expected: string) =>
  eventually(async () => expect(await text(page, label)).toContain(expected));

async function send(page: Page, message: string): Promise<void> {
  await page.getByLabel("Message").fill(message);
  await page.getByLabel("Message").press("Enter");
}

const newId = () => crypto.randomUUID();
const london = { name: "get_weather", input: { location: "London" } };

describe("byref/react", () => {
  it("shows a variable as soon as a turn writes it, before the turn ends", async ({
    app,
    scripted,
  }) => {
    const { promise: hold, resolve: goOn } = Promise.withResolvers<void>();
    scripted.answer(
      "Live.",
      { kind: "calls", calls: [london] },
      { kind: "text", text: "It is fine there.", hold },
    );
    const id = newId();
    const query = { id, name: "get_weather_london", path: ".city" };
    const { page } = await app(scripted.url, query);
    const { page: beside } = await app(scripted.url, query);
    await shows(page, "First", "missing");
    await send(page, "Live.");
    await shows(page, "First", '"London" v1 ready');
    await shows(page, "Variables", "get_weather_london v1");
    await shows(page, "Status", "streaming");
    // The other page did not send the message, so it reads the turn's stream itself.
    await shows(beside, "First", '"London" v1 ready');
    goOn();
    await shows(page, "Answers", "assistant: It is fine there.");
    await shows(page, "Events", "turn.done");
  });

  it("resumes a turn after a reload, and its stop stops the turn on the server", async ({
    app,
    scripted,
  }) => {
    const { promise: hold, resolve: goOn } = Promise.withResolvers<void>();
    scripted.answer("Stay.", { kind: "text", text: "The first half, the second half.", hold });
    const id = newId();
    const { page } = await app(scripted.url, { id });
    await shows(page, "Status", "ready");
    await send(page, "Stay.");
    await shows(page, "Answers", "assistant: The");
    const conversation = createClient(scripted.url).conversation(id);
    await page.reload();
    await shows(page, "Answers", "user: Stay. | assistant: The");
    await shows(page, "Status", "streaming");
    expect((await conversation.about()).status).toBe("running");
    await page.getByRole("button", { name: "Stop" }).click();
    await eventually(async () => expect((await conversation.about()).status).toBe("idle"));
    await shows(page, "Status", "ready");
    goOn();
    const { messages } = await conversation.messages();
    expect(JSON.stringify(messages)).not.toContain("second half");
    expect(scripted.asked("Stay.")).toBe(1);
  });
});
