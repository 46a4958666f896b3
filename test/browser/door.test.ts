import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBrowser, type TestBrowser } from "../support/browser.ts";
import { type Server, startServer, temporaryFolder } from "../support/server.ts";

const stateDir = temporaryFolder();
const key = "a-key-of-the-tests-0123456789";
let server: Server;
let browser: TestBrowser;

beforeAll(async () => {
  const API_KEYS = JSON.stringify({ [key]: "acme" });
  server = await startServer({ STATE_DIR: stateDir, AUTH: "bearer", API_KEYS });
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

describe("a server with a door", () => {
  it("gives everybody the page, with its guards, and nothing else", async () => {
    const page = await fetch(`${server.url}/`);
    expect(page.status).toBe(200);
    const policy = page.headers.get("content-security-policy");
    expect(policy).toMatch(/^default-src 'self';.*script-src 'self';/);
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text())?.[1] ?? "";
    const asset = await fetch(server.url + script);
    expect(asset.headers.get("content-type")).toMatch(/^text\/javascript/);
    expect(asset.headers.get("cache-control")).toContain("immutable");
    for (const path of ["/agents", "/conversations", "/conversations/c/messages"]) {
      expect((await fetch(server.url + path)).status).toBe(401);
    }
    const nothing = await fetch(`${server.url}/nothing`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(nothing.status).toBe(404);
    expect(nothing.headers.get("content-type")).toBe("application/problem+json");
  });

  it("asks for a key, says when it is wrong, and keeps it for this tab", async () => {
    const { page, close } = await browser.open(server.url);
    const field = page.getByLabel("Key");
    await field.fill("some-other-key-0123456789");
    await page.keyboard.press("Enter");
    await page.getByText("This key does not open the door.").waitFor();
    await field.fill(key);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /Compare the weather/ }).click();
    await page.getByRole("button", { name: "Answer again" }).waitFor();

    await page.reload();
    await page.getByRole("button", { name: "Answer again" }).waitFor();
    expect(await page.evaluate(() => Object.values(localStorage).join())).not.toContain(key);

    const started = page.waitForEvent("download");
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Export" }).click();
    const download = await started;
    expect(await download.failure()).toBeNull();
    expect(download.url()).toContain("ticket=");

    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Leave" }).click();
    await field.waitFor();
    await close();
  });
});
