import { Validator } from "@seriousme/openapi-schema-validator";
import { beforeAll, describe, expect, it } from "vitest";
import { apiPage, openApi } from "../../page/api-page.ts";
import { createApp } from "../../src/edge/app.ts";
import { fileEndpoints } from "../../src/edge/routes/files.ts";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import { transfers } from "../../packages/transfer/src/transfers.ts";
import type { OpenApi } from "../../src/edge/openapi/document.ts";
import { openApiFrom } from "../support/openapi.ts";

const whole = createApp({
  agents: [],
  authenticator: () => "anybody",
  plans: planSupport(),
  transfer: transfers,
  files: fileEndpoints,
});

describe("GET /openapi.json", () => {
  let document: OpenApi;
  const calls = () =>
    Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({ path, method, operation })),
    );

  beforeAll(async () => void (document = await openApiFrom(whole)));

  it("is an OpenAPI 3.1 document", async () => {
    const checked = await new Validator({ strict: false }).validate({ ...document });
    expect([checked.errors ?? [], checked.valid]).toEqual([[], true]);
    expect(document.openapi).toBe("3.1.0");
  });

  it("describes every route that the app has, and no other", () => {
    const described = calls().map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    const routes = whole.routes
      .filter(({ method }) => method !== "ALL")
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)(\{.+\})?/g, "{$1}")}`);
    expect(described.sort()).toEqual([...new Set(routes)].sort());
  });

  it("leaves out the features that the app lacks", async () => {
    const bare = await openApiFrom(createApp({ agents: [], authenticator: () => "anybody" }));
    const paths = Object.keys(bare.paths);
    expect(paths).toContain("/conversations/{id}/messages");
    expect(paths.filter((path) => /plans|export|import|fork|files/.test(path))).toEqual([]);
    expect(Object.keys(bare.components.schemas)).not.toContain("Plan");
  });

  it("refers only to existing schemas, and to each at least once", () => {
    const text = JSON.stringify(document);
    const used = new Set(text.match(/(?<="\$ref":"#\/components\/schemas\/)\w+/g));
    expect([...used].sort()).toEqual(Object.keys(document.components.schemas).sort());
  });

  it("gives every call a unique name, its path's parameters and its error format", () => {
    const ids = calls().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, operation } of calls()) {
      const named = operation.parameters.filter(({ in: where }) => where === "path");
      expect(named.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
      expect(operation.responses.default?.content).toHaveProperty(["application/problem+json"]);
    }
  });

  it("accepts a ticket for reads below a conversation, and only there", () => {
    for (const { method, path, operation } of calls()) {
      const takesTicket = method === "get" && path.startsWith("/conversations/{id}/");
      const names = operation.security.map((one) => Object.keys(one).join(""));
      expect(names.includes("ticket"), `${method} ${path}`).toBe(takesTicket);
    }
  });
});

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
