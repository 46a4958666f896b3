import type { Page } from "playwright-core";
import { expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { startLoopback } from "../support/loopback.ts";
import { ask, idIn, it } from "../support/page-test.ts";

/** Starts another host that records every request to it. */
async function startStranger() {
  const asked: string[] = [];
  const { url, down: stop } = await startLoopback((request, response) => {
    asked.push(request.url ?? "");
    response.writeHead(200, { "access-control-allow-origin": "*" }).end("window.pwned = 1");
  });
  return { url, asked, stop };
}

/** Markup with everything by which a text could load or run something. */
const hostile = (url: string) => `# Watch out <img src=${url}/heading onerror="window.pwned=1">

<script>window.pwned = 1</script><script src="${url}/script.js"></script>

<img src="${url}/image.png" onerror="window.pwned=1"> <iframe src="${url}/frame"></iframe>
<svg onload="window.pwned=1"><image href="${url}/svg.png" /></svg>
<style>@import url(${url}/style.css); body { background: url(${url}/background.png) }</style>
<link rel="stylesheet" href="${url}/link.css"><meta http-equiv="refresh" content="0;url=${url}/away">
<form action="${url}/form"><button>Press me</button></form>

![remote](${url}/markdown.png) ![data](data:image/svg+xml;base64,PHN2Zy8+) ![again][pic]

[run](javascript:window.pwned=1) [run too](JaVaScRiPt:window.pwned=1) [run](<java
script:alert(1)>) [page](data:text/html,<script>window.pwned=1</script>) [file](vbscript:x)
[relative](/conversations) [entity](javascript&#58;window.pwned=1) <javascript:window.pwned=1>

| <img src=${url}/cell.png> | b |
| - | - |
| <b onclick="window.pwned=1">x</b> | ![cell](${url}/cell-markdown.png) |

[pic]: ${url}/reference.png
The end of it.`;

/** Returns the parts of the hostile text that have become elements, handlers or links of the page. */
const found = (page: Page) =>
  page.evaluate<Found>(`({
    pwned: window.pwned,
    elements: [...document.body.querySelectorAll(
      "img, iframe, script, style, link, meta, form[action], image, object, embed, video, audio",
    )].map((one) => one.outerHTML),
    handlers: [...document.body.querySelectorAll("*")].flatMap((one) => one.getAttributeNames())
      .filter((name) => name.startsWith("on")),
    links: [...document.links].map((one) => one.href)
      .filter((href) => !/^(https?|mailto):/.test(href)),
  })`);

interface Found {
  readonly pwned: unknown;
  readonly elements: readonly string[];
  readonly handlers: readonly string[];
  readonly links: readonly string[];
}

const nothing: Found = { pwned: undefined, elements: [], handlers: [], links: [] };

it("hostile text loads and runs nothing as a value, wherever it is shown", async ({
  open,
  scripted,
  onTestFinished,
}) => {
  const stranger = await startStranger();
  onTestFinished(stranger.stop);
  const text = hostile(stranger.url);
  scripted.answer("Let me in.", { kind: "text", text });
  scripted.answer("Say the value.", {
    kind: "text",
    text: "Whole:\n\n$evil\n\nIn a **line: $row.html** and $rows[0].html, and [in a link $row.html](https://example.com).",
  });
  const page = await open(scripted.url);
  await ask(page, "Let me in.");
  await page.getByText("The end of it.").waitFor();
  await page.getByRole("button", { name: "Answer again" }).waitFor();
  expect(await found(page)).toEqual(nothing);
  // The markup is shown as text, and an image as a link.
  await page.getByText("<script>window.pwned = 1</script>").waitFor();
  const links = page.getByRole("article", { name: "Answer" }).getByRole("link");
  expect(await links.allInnerTexts()).toEqual(["remote", "again", "cell"]);
  expect(await links.first().getAttribute("rel")).toContain("noopener");
  const conversation = createClient(scripted.url).conversation(idIn(page));
  const html = `<img src="${stranger.url}/value.png" onerror="window.pwned=1"> ![v](${stranger.url}/v.png)`;
  await conversation.variables.put("evil", text, { description: html });
  await conversation.variables.put("row", { html, [html]: "javascript:window.pwned=1" });
  await conversation.variables.put("rows", [
    { html, [html]: html },
    { html, [html]: html },
  ]);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg"><script href="${stranger.url}/in.svg"/><image href="${stranger.url}/in.png"/></svg>`;
  const drawing = new Blob([svg]);
  await conversation.variables.put("drawing", drawing, { contentType: "image/svg+xml" });
  const body = JSON.stringify({ title: html });
  const headers = { "content-type": "application/json" };
  const address = `${scripted.url}/conversations/${idIn(page)}`;
  expect((await fetch(address, { method: "PATCH", headers, body })).ok).toBe(true);

  await ask(page, "Say the value.");
  await page.getByText("The end of it.").nth(1).waitFor();
  await page.getByRole("button", { name: "Answer again" }).last().waitFor();
  expect(await found(page)).toEqual(nothing);
  await page.getByRole("switch", { name: "Show references" }).click();
  await page.getByText("In a **line: $row.html**").waitFor();
  for (const name of ["evil", "row", "rows", "drawing"]) {
    await page
      .locator(".item-open", { hasText: `$${name}` })
      .first()
      .click();
    const article = page.getByRole("article", { name: `Variable ${name}` });
    await article
      .locator("pre, table, [role=table], [role=tree], img, .variables-empty")
      .first()
      .waitFor();
    const { elements, ...others } = await found(page);
    expect(others).toEqual({ ...nothing, elements: undefined });
    // A drawing is an image from the page's own server, and images run no scripts.
    const own = '<img class="variables-image" src="/conversations/';
    expect(elements.filter((one) => !one.startsWith(own))).toEqual([]);
    if (name === "rows") {
      await article.getByRole("button", { name: "Tree" }).click();
      await article.locator(".variables-fold").first().waitFor();
    }
    await article.getByRole("button", { name: "All variables" }).click();
  }
  await page.getByRole("tab", { name: "Events" }).click();
  await page.getByRole("region", { name: "Events" }).getByText("$evil").waitFor();
  expect(await found(page)).toEqual(nothing);
  expect(stranger.asked).toEqual([]);
});
