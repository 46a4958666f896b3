import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { startGateway } from "../../../test/support/gateway.ts";
import { RawServer } from "../../../test/support/raw-server.ts";

const block = (text: string) => ({ type: "text" as const, text });
const base64 = (bytes: number) => Buffer.alloc(bytes, 1).toString("base64");
const picture = (bytes: number) => ({
  type: "image" as const,
  data: base64(bytes),
  mimeType: "image/png",
});
const file = (bytes: number) => ({
  type: "resource" as const,
  resource: { uri: "file:///a", blob: base64(bytes), mimeType: "application/pdf" },
});
const SMALL = picture(102_400);
const LARGE = picture(102_401);
const LONG = "x".repeat(1_001);
const structuredContent = { page: "LONG ".repeat(300) };

/** Starts a gateway in front of a server with a tool that returns this, and one that records its input. */
async function returning(result: Partial<CallToolResult>) {
  const received: unknown[] = [];
  const make = () =>
    new RawServer({
      "tools/list": () => ({
        tools: ["shot", "take"].map((name) => ({ name, inputSchema: { type: "object" } })),
      }),
      "tools/call": ({ name, arguments: input }) => {
        if (name === "shot") return result;
        received.push(input);
        return { content: [] };
      },
    });
  return { received, ...(await startGateway([{ name: "browser", make }])) };
}

/** What comes after the handle and the link to the variable. */
const beside = ({ content }: { readonly content: readonly ContentBlock[] }) => content.slice(2);

describe("contents of a long result with pictures, sounds and files", () => {
  it.each<[string, Partial<CallToolResult>, readonly ContentBlock[]]>([
    ["a picture", { content: [SMALL] }, [SMALL]],
    ["a large picture, which the handle describes", { content: [LARGE] }, []],
    [
      "a short text beside pictures",
      { content: [block("Done."), SMALL, picture(3)] },
      [block("Done."), SMALL, picture(3)],
    ],
    ["a long text beside a picture", { content: [block(LONG), SMALL] }, [SMALL]],
    [
      "a short text beside a large picture",
      { content: [block("Done."), LARGE] },
      [
        block(
          "1 content is not shown but kept, as base64: $shot_1[1].data: image/png of 102401 bytes.",
        ),
        block("Done."),
      ],
    ],
    [
      "a file and a large picture",
      { content: [SMALL, file(5), LARGE] },
      [
        block(
          "2 contents are not shown but kept, as base64: $shot_1[1].resource.blob: application/pdf of 5 bytes, $shot_1[2].data: image/png of 102401 bytes.",
        ),
        SMALL,
      ],
    ],
    [
      "seven large pictures",
      { content: Array.from({ length: 7 }, () => LARGE) },
      [block(expect.stringMatching(/^7 contents .+\$shot_1\[4\]\.data: [^,]+ and 2 more\.$/u))],
    ],
    [
      "a large picture and a sound beside structured content, which the variable does not have",
      { content: [LARGE, { ...LARGE, type: "audio" }], structuredContent },
      [LARGE, { ...LARGE, type: "audio" }],
    ],
    [
      "a large picture in a failure",
      { content: [block("No."), LARGE], structuredContent, isError: true },
      [
        block(
          "1 content is not shown but kept, as base64: $shot_1.content[1].data: image/png of 102401 bytes.",
        ),
        block("No."),
      ],
    ],
  ])("%s", async (_what, result, expected) => {
    const { call } = await returning(result);
    expect(beside(await call("shot"))).toEqual(expected);
  });

  it("are where the note says", async () => {
    const { call, received } = await returning({ content: [block("Done."), LARGE, file(5)] });
    await call("shot");
    await call("take", { picture: "$shot_1[1].data", file: "$shot_1[2].resource.blob" });
    expect(received).toEqual([{ picture: LARGE.data, file: file(5).resource.blob }]);
  });
});
