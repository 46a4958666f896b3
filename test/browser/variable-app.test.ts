import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { FrameLocator } from "playwright-core";
import { describe, expect } from "vitest";
import { type Content } from "../../src/store/bytes/content.ts";
import { type Json, parsedJson } from "../../src/value/json.ts";
import { startGateway } from "../support/gateway.ts";
import { it as base } from "../support/page-test.ts";

const HOST = "page/test/apps-host.ts";
const VIEW = "dist/web-app/variable.html";
const SUPPORTED = {
  extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
};

let script: string | undefined;

function built(): string {
  const options = ["--bundle", "--format=iife", "--log-level=error"];
  return execFileSync("esbuild", [HOST, ...options], { encoding: "utf8", maxBuffer: 64_000_000 });
}

/** Calls show_variable in a client that supports views. */
const it = base.extend("shown", async ({ open, demo }) => {
  script ??= built();
  const document = `<!doctype html><title>Client</title><body><script>${script.replaceAll("</script", "<\\/script")}</script>`;
  return async (
    value: Json | Content,
    { theme = "light", path = "" } = {},
  ): Promise<{ frame: FrameLocator; answer: string; read: string[] }> => {
    const app = () => readFileSync(VIEW, "utf8");
    const { client, call, store } = await startGateway([], { app, capabilities: SUPPORTED });
    await store.save({ name: "orders", value });
    const page = await open(`${demo.url}/health`);
    const read: string[] = [];
    await page.route("**/mcp-client", (route) =>
      route.fulfill({ contentType: "text/html; charset=utf-8", body: document }),
    );
    await page.exposeFunction("readResource", (uri: string) => {
      read.push(uri);
      return client.readResource({ uri });
    });
    await page.goto(`${demo.url}/mcp-client`);
    const input = { name: "$orders", ...(path && { path }) };
    const answer = JSON.stringify(await call("show_variable", input));
    const { tools } = await client.listTools();
    const tool = tools.find(({ name }) => name === "show_variable");
    const uri: string = await page.evaluate(`window.viewOf(${JSON.stringify(tool)})`);
    const [view] = (await client.readResource({ uri })).contents;
    const html = view !== undefined && "text" in view ? view.text : "";
    const parameters = [html, input, theme].map((one) => JSON.stringify(one));
    await page.evaluate(`window.showApp(${parameters.join(", ")})`);
    return { frame: page.frameLocator("iframe"), answer, read };
  };
});

const records = Array.from({ length: 1_000 }, (_, at) => ({
  id: `ord_${at}`,
  total: at * 3,
  city: at % 2 === 0 ? "Oslo" : "Rome",
}));

it("show_variable draws records, and shows none to the model", async ({ shown }) => {
  const { frame, answer } = await shown(records);
  await frame.getByText("ord_0", { exact: true }).waitFor();
  expect(answer).not.toContain("ord_0");
  expect(answer.length).toBeLessThan(200);
  await frame.getByLabel("Filter rows").fill("ord_999");
  await frame.getByText("ord_999", { exact: true }).waitFor();
  await frame.getByText("Chart", { exact: true }).click();
  await frame.locator("svg").first().waitFor();
  await frame.getByText("Tree", { exact: true }).click();
  await frame.getByText("$orders", { exact: true }).first().waitFor();
});

it("show_variable draws markup as text", async ({ shown }) => {
  const markup = '<img src="https://evil.example/x"><script>parent.stolen = 1</script>';
  const { frame } = await shown([{ text: markup }, { text: "x" }]);
  await frame.getByText(markup, { exact: true }).first().waitFor();
});

it("show_variable keeps the digits of long numbers (gildas-lormeau/JSONVue#11)", async ({
  shown,
}) => {
  const { frame } = await shown(
    parsedJson('{"id":2916334247900527532,"share":0.30000000000000004}'),
  );
  await frame.getByText("2916334247900527532").waitFor();
  await frame.getByText("0.30000000000000004", { exact: true }).waitFor();
});

describe("show_variable elsewhere", () => {
  base("is not offered to a client that shows no views", async () => {
    const app = () => "";
    const { client } = await startGateway([], { app });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain("show_variable");
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).not.toContain("ui://byref/variable");
  });
});
