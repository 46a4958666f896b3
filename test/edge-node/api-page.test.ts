import { beforeAll, describe, expect, it } from "vitest";
import { apiPage, openApi } from "../../page/api-page.ts";

describe("the page that describes the HTTP interface", () => {
  const html = "<body><!-- calls --></body>";
  let page: string;

  beforeAll(async () => {
    page = await apiPage().transformIndexHtml(html, { path: "/docs/index.html" });
  });

  it("has every call, with what it does", async () => {
    for (const [path, operations] of Object.entries((await openApi()).paths)) {
      for (const [method, { summary }] of Object.entries(operations)) {
        expect(page).toContain(`${method.toUpperCase()}</span> ${path}</h3>\n<p>${summary}</p>`);
      }
    }
  });

  it("has a target for each of its links", () => {
    const ids = new Set(Array.from(page.matchAll(/ id="(\w+)"/g), ([, id]) => id));
    const links = Array.from(page.matchAll(/href="#(\w+)"/g), ([, id]) => id);
    expect(links.length).toBeGreaterThan(50);
    expect(links.filter((id) => !ids.has(id))).toEqual([]);
  });

  it("escapes types, and has no scripts and no inline styles", () => {
    expect(page).toContain("&quot;idle&quot; | &quot;running&quot; | &quot;waiting&quot;");
    expect(page).not.toMatch(/<script|<style| style=| on\w+=/u);
  });
});
