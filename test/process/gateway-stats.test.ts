import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { byref } from "../support/command-line.ts";
import { FILESYSTEM, gatewayCommand, nameIn } from "../support/gateway-process.ts";

const folder = mkdtempSync(join(tmpdir(), "gateway-stats-"));
const files = join(folder, "files");
mkdirSync(files);
const { command, args } = gatewayCommand(folder, { files: [...FILESYSTEM, files] });
const place = ["--state", join(folder, "state"), "--workspace", "counted"];

const stats = (...options: readonly string[]) =>
  byref(["mcp", "stats", ...place, ...options], { folder });

it("stats counts the calls of several gateways and the bytes passed by reference", async () => {
  const none = stats("--json");
  expect(none.stderr).toBe("");
  expect(Object.values(JSON.parse(none.stdout))).toEqual(Array.from({ length: 9 }, () => 0));

  expect(stats().stderr).toContain("Nothing is counted for this workspace.");

  const text = 'ü𝄞 \\ "quoted"\n'.repeat(20_000);
  writeFileSync(join(files, "large.txt"), text);
  const connected = async () => {
    const client = new Client({ name: "test", version: "1" });
    const own = [...args, "--workspace", "counted"];
    await client.connect(new StdioClientTransport({ command, args: own, stderr: "ignore" }));
    return (name: string, input: Record<string, unknown>) => {
      sent.push(client.callTool({ name, arguments: input }));
      return sent.at(-1) ?? Promise.reject(new Error("Nothing was sent."));
    };
  };
  const sent: ReturnType<Client["callTool"]>[] = [];
  const [one, other] = [await connected(), await connected()];
  const read = await one("read_text_file", { path: join(files, "large.txt") });
  const source = `$${nameIn(read)}.content`;
  const write = (content: string) => ({ path: join(files, "copy.txt"), content });
  expect(await other("write_file", write(`$${nameIn(read)}.nothing`))).toMatchObject({
    isError: true,
  });
  await other("write_file", write(source));
  await one("write_file", write("Something else."));

  const results = await Promise.all(sent);
  const { stdout, stderr, status } = stats("--json");
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  const counts = JSON.parse(stdout);
  expect(Object.keys(counts)).toEqual([
    "calls",
    "kept",
    "charactersReceived",
    "charactersSent",
    "tokensSaved",
    "referenceCharacters",
    "bytesByReference",
    "wrongReferences",
    "recovered",
  ]);
  expect(counts).toMatchObject({
    calls: 4,
    kept: 3,
    referenceCharacters: source.length,
    bytesByReference: Buffer.byteLength(text),
    wrongReferences: 1,
    recovered: 1,
  });
  const inResults = JSON.stringify(results).length;
  expect(counts.charactersSent).toBeGreaterThan(100);
  expect(counts.charactersSent).toBeLessThan(inResults);
  expect(counts.charactersReceived).toBeGreaterThan(text.length);
  expect(counts.tokensSaved).toBe(
    Math.round((counts.charactersReceived - counts.charactersSent) / 4),
  );
  const table = stats().stdout;
  expect(table).toMatch(/^calls +4\nkept +3\n/u);
  expect(table).toContain("\nbytes by reference ");
  expect(table).not.toContain("quoted");
});

it("stats starts over from a damaged file, and says so", () => {
  const damaged = join(folder, "state", "damaged");
  mkdirSync(damaged, { recursive: true });
  writeFileSync(join(damaged, "gateway.sqlite"), "Damaged. ".repeat(1_000));
  const { stdout, stderr, status } = byref(
    ["mcp", "stats", "--json", "--state", join(folder, "state"), "--workspace", "damaged"],
    { folder },
  );
  expect(status).toBe(0);
  expect(stderr).toContain("damaged and start again from zero");
  expect(JSON.parse(stdout).calls).toBe(0);
});
