import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { askExample, eventually, idIn, it, KEY } from "../support/page-test.ts";
import { listed } from "../support/variables-page.ts";

// Console errors of a page without a key, for which the server refuses all other requests.
const REFUSED = /401|Send a key/;

describe("a server with authentication", () => {
  it("serves the page and its files to anybody, with a strict policy", async ({ guarded }) => {
    const page = await fetch(`${guarded.url}/`);
    const policy = page.headers.get("content-security-policy");
    expect(policy).toMatch(/^default-src 'self';.*script-src 'self';/);
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text())?.[1] ?? "";
    const asset = await fetch(guarded.url + script);
    expect(asset.headers.get("cache-control")).toContain("immutable");
  });

  it("asks for a key, says when it is wrong, and keeps it for this tab", async ({
    open,
    guarded,
  }) => {
    const page = await open(guarded.url, { forgives: REFUSED });
    const field = page.getByLabel("Key");
    await field.fill("some-other-key-0123456789");
    await page.keyboard.press("Enter");
    await page.getByText("This key is not valid.").waitFor();
    await field.fill(KEY);
    await page.keyboard.press("Enter");
    await askExample(page, /Compare the weather/);

    await page.reload();
    await page.getByRole("button", { name: "Answer again" }).waitFor();
    expect(await page.evaluate("Object.values(localStorage).join()")).not.toContain(KEY);
    // Another tab has to ask for it again.
    const other = await open(page.url(), { beside: page, forgives: REFUSED });
    await other.getByLabel("Key").waitFor();

    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await field.waitFor();
    await page.reload();
    await field.waitFor();
  });

  it("loads images, downloads and the live timeline with the entered key", async ({
    open,
    guarded,
  }) => {
    const page = await open(guarded.url, { forgives: REFUSED });
    await page.getByLabel("Key").fill(KEY);
    await page.keyboard.press("Enter");
    await askExample(page, /Compare the weather/);
    const { variables } = createClient(guarded.url, { auth: KEY }).conversation(idIn(page));
    const png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const dot = new Blob([Buffer.from(png, "base64")]);
    await variables.put("dot", dot, { contentType: "image/png" });
    await listed(page, "dot").click();
    const image = page.getByRole("img", { name: "$dot" });
    expect(await image.getAttribute("src")).toContain("ticket=");
    const width = "document.querySelector('.variables-image').naturalWidth";
    await eventually(async () => expect(await page.evaluate(width)).toBe(1));
    const downloaded = async (press: () => Promise<void>) => {
      const started = page.waitForEvent("download");
      await press();
      const download = await started;
      expect(await download.failure()).toBeNull();
      expect(download.url()).toContain("ticket=");
      expect(download.url()).not.toContain(KEY);
      return download.suggestedFilename();
    };
    const file = await downloaded(() => page.getByRole("button", { name: "Download" }).click());
    expect(file).toBe("dot.png");
    await page.getByRole("button", { name: "More" }).click();
    const whole = await downloaded(() => page.getByRole("menuitem", { name: "Export" }).click());
    expect(whole).toMatch(/\.ndjson$/);
    await page.getByRole("tab", { name: "Events" }).click();
    await page.getByText(/\$dot saved/).waitFor();
  });
});
