import {
  getToolUiResourceUri,
  RESOURCE_MIME_TYPE,
  RESOURCE_URI_META_KEY,
} from "@modelcontextprotocol/ext-apps/app-bridge";
import { expect, it } from "vitest";
import { VariableApp } from "../../src/gateway/show-variable.ts";
import { startGateway } from "../support/gateway.ts";

const capabilities = {
  extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } },
};

it.each(["modern", "legacy"] as const)(
  "a host finds the view of show_variable as its library does, and in the older place, %s",
  async (era) => {
    const app = new VariableApp(() => "<!doctype html><title>View</title>");
    const { client } = await startGateway([], { app, capabilities, era });
    const { tools } = await client.listTools();
    const showing = tools.filter((tool) => getToolUiResourceUri(tool) !== undefined);
    expect(showing.map(({ name }) => name)).toEqual(["show_variable"]);
    const [uri = ""] = showing.flatMap((tool) => getToolUiResourceUri(tool) ?? []);
    expect(showing[0]?._meta?.[RESOURCE_URI_META_KEY]).toBe(uri);
    const { resources } = await client.listResources();
    expect(resources.find((one) => one.uri === uri)).toMatchObject({
      mimeType: RESOURCE_MIME_TYPE,
    });
    const { contents } = await client.readResource({ uri });
    expect(contents).toEqual([
      {
        uri,
        mimeType: RESOURCE_MIME_TYPE,
        text: "<!doctype html><title>View</title>",
        _meta: { ui: { prefersBorder: true } },
      },
    ]);
  },
);

it.each([
  ["no extension", {}],
  ["another type", { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html"] } } }],
])("a client with %s is not offered it", async (_what, other) => {
  const app = new VariableApp(() => "");
  const { client } = await startGateway([], { app, capabilities: other });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).not.toContain("show_variable");
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).not.toContain("ui://byref/variable");
});
