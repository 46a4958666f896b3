import { expect, it } from "vitest";
import { startGateway } from "../../../test/support/gateway.ts";
import { RawServer } from "../../../test/support/raw-server.ts";

const inputSchema = { type: "object" };
const twice = (item: object) => [
  { ...item, description: "first" },
  { ...item, description: "second" },
];

/** Lists everything twice: each name is one to the server. */
const make = () =>
  new RawServer({
    "tools/list": () => ({ tools: twice({ name: "get", inputSchema }) }),
    "tools/call": () => ({ content: [{ type: "text", text: "called" }] }),
    "prompts/list": () => ({ prompts: twice({ name: "ask" }) }),
    "resources/list": () => ({ resources: twice({ name: "r", uri: "file:///r" }) }),
    "resources/templates/list": () => ({
      resourceTemplates: twice({ name: "t", uriTemplate: "file:///{t}" }),
    }),
  });

it("what one server lists twice is offered once, under its own name, and logged once", async () => {
  const { client, call, log } = await startGateway([{ name: "shop", make }]);
  const { tools } = await client.listTools();
  await client.listTools();
  const { prompts } = await client.listPrompts();
  const { resources } = await client.listResources();
  const { resourceTemplates } = await client.listResourceTemplates();
  const described = (items: readonly { readonly description?: string | undefined }[]) =>
    items.filter(({ description = "" }) => /^(?:first|second)$/u.test(description));
  expect(described(tools)).toMatchObject([{ name: "get", description: "first" }]);
  expect(described(prompts)).toEqual([{ name: "ask", description: "first" }]);
  expect(described(resources)).toMatchObject([{ uri: "file:///r", description: "first" }]);
  const template = { uriTemplate: "file:///{t}", description: "first" };
  expect(described(resourceTemplates)).toMatchObject([template]);
  expect(await call("get")).toMatchObject({ content: [{ text: "called" }] });
  expect(log.toSorted()).toEqual(
    ["ask", "file:///r", "file:///{t}", "get"].map(
      (name) => `Server shop: it lists ${name} more than once; the first is offered.`,
    ),
  );
});
