import { describe, expect, it } from "vitest";
import type { FileSaver } from "../src/own-tools.ts";
import { joinBytes } from "../../../src/value/bytes.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { nameIn, textIn } from "../../../test/support/gateway-process.ts";
import { toolServer } from "../../../test/support/raw-server.ts";
import { slow } from "../../../test/support/slow.ts";

/** Creates a file store in memory. */
function memoryFiles() {
  const written = new Map<string, Uint8Array>();
  const files: FileSaver = {
    async save(file, content) {
      const pieces: Uint8Array[] = [];
      for await (const piece of content) pieces.push(piece);
      const bytes = joinBytes(pieces);
      written.set(file, bytes);
      return { file, bytes: bytes.length };
    },
  };
  const text = (file: string) => new TextDecoder().decode(written.get(file));
  return { files, written, text };
}

const JSON_TEXT = `[\n${' {"id": 1.0, "name": "a"},\n'.repeat(90_000)} {"id": 2, "name": "b"}\n]`;
const IMAGE = { type: "image" as const, data: "AAEC/w==", mimeType: "image/png" };

const said = (text: string) => ({ content: [{ type: "text", text }] });
const RESULTS: Readonly<Record<string, object>> = {
  records: said(JSON_TEXT),
  note: said("ü𝄞\r\n".repeat(400_000)),
  image: { content: [IMAGE] },
  token: said("tok_123"),
};
const results = () => toolServer(Object.keys(RESULTS), ({ name }) => RESULTS[String(name)]);

async function start() {
  const rules = { tools: { token: { sealed: true } } };
  const memory = memoryFiles();
  const gateway = await startGateway([{ name: "results", make: results, rules }], memory);
  return { ...gateway, ...memory };
}

describe("save_variable", () => {
  it("is offered only where files may be written", async () => {
    const named = async ({ client }: Awaited<ReturnType<typeof startGateway>>) =>
      (await client.listTools()).tools.map(({ name }) => name);
    expect(await named(await startGateway([]))).not.toContain("save_variable");
    const { client } = await start();
    const { tools } = await client.listTools();
    const own = tools.slice(-5);
    expect(own.at(-1)).toMatchObject({
      name: "save_variable",
      annotations: { readOnlyHint: false },
    });
    const shown = own.map(({ name, description, inputSchema }) => [name, description, inputSchema]);
    expect(JSON.stringify(shown).length).toBeLessThan(3_000);
  });

  it("writes texts, bytes and JSON as they were received", slow, async () => {
    const { call, text, written } = await start();
    const [records, note, image] = [await call("records"), await call("note"), await call("image")];
    const saved = await call("save_variable", { name: nameIn(records), file: "a.json" });
    expect(JSON.parse(textIn(saved))).toEqual({ file: "a.json", bytes: JSON_TEXT.length });
    await call("save_variable", { name: `$${nameIn(note)}`, file: "a.md" });
    await call("save_variable", { name: nameIn(image), file: "a.png" });
    expect(text("a.json") === JSON_TEXT).toBe(true);
    expect(text("a.md") === "ü𝄞\r\n".repeat(400_000)).toBe(true);
    expect([...(written.get("a.png") ?? [])]).toEqual([0, 1, 2, 255]);
  });

  it("refuses a sealed value, and says what is wrong with a name or a path", slow, async () => {
    const { call, written } = await start();
    const token = nameIn(await call("token"));
    const sealed = await call("save_variable", { name: token, file: "token" });
    expect(textIn(sealed)).toContain("variable_sealed");
    const name = nameIn(await call("records"));
    const wrong = await call("save_variable", { name, path: ".x", file: "a" });
    expect(textIn(wrong)).toContain("path_not_found");
    const unknown = await call("save_variable", { name: "none", file: "a" });
    expect(textIn(unknown)).toContain("variable_not_found");
    expect([sealed, wrong, unknown].every(({ isError }) => isError)).toBe(true);
    expect(written.size).toBe(0);
  });
});

const TYPE = "text/html;profile=mcp-app";
const capabilities = {
  extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [TYPE] } },
};

it.each(["modern", "legacy"] as const)(
  "a host finds the view of show_variable where the specification puts it, and in the older place, %s",
  async (era) => {
    const text = "<!doctype html><title>View</title>";
    const { client } = await startGateway([], { app: () => text, capabilities, era });
    const { tools } = await client.listTools();
    const uri = "ui://byref/variable";
    const meta = { ui: { resourceUri: uri }, "ui/resourceUri": uri };
    const showing = tools.filter(({ _meta }) => _meta !== undefined);
    expect(showing).toMatchObject([{ name: "show_variable", _meta: meta }]);
    const { resources } = await client.listResources();
    expect(resources.find((one) => one.uri === uri)).toMatchObject({ mimeType: TYPE });
    const { contents } = await client.readResource({ uri });
    const _meta = { ui: { prefersBorder: true } };
    expect(contents).toEqual([{ uri, mimeType: TYPE, text, _meta }]);
  },
);
