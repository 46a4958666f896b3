import { expect, it } from "vitest";
import { VariableApp } from "../src/own-tools.ts";
import { startGateway } from "../../../test/support/gateway.ts";

const TYPE = "text/html;profile=mcp-app";
const capabilities = {
  extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [TYPE] } },
};

it.each(["modern", "legacy"] as const)(
  "a host finds the view of show_variable where the specification puts it, and in the older place, %s",
  async (era) => {
    const app = new VariableApp(() => "<!doctype html><title>View</title>");
    const { client } = await startGateway([], { app, capabilities, era });
    const { tools } = await client.listTools();
    const showing = tools.filter(({ _meta: meta }) => meta?.ui !== undefined);
    expect(showing.map(({ name }) => name)).toEqual(["show_variable"]);
    const [{ _meta: meta } = {}] = showing;
    const uri = "ui://byref/variable";
    expect(meta).toEqual({ ui: { resourceUri: uri }, "ui/resourceUri": uri });
    const { resources } = await client.listResources();
    expect(resources.find((one) => one.uri === uri)).toMatchObject({
      mimeType: TYPE,
    });
    const { contents } = await client.readResource({ uri });
    expect(contents).toEqual([
      {
        uri,
        mimeType: TYPE,
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
