import { describe, expect, it } from "vitest";
import { answerWith, given, NYC, read } from "../../../test/support/tagged-agent.ts";
import { chunksOf } from "../../../test/support/turn.ts";

describe("a tag in a model's text", () => {
  it.each([
    ['_outputpath="$a"', "The tool has no parameter _outputpath. The nearest is _outputPath."],
    ['_after="†approvals.legal"', "The tool has no parameter _after."],
    ['_when="now"', "The tool has no parameter _when."],
  ])("with an unknown attribute is an error that the model reads: %s", async (own, why) => {
    const turn = await answerWith(NYC.replace(" />", ` ${own} />`), 3);
    expect(given).toEqual([]);
    expect(chunksOf(turn.chunks, "tool-output-error")).toMatchObject([
      { errorText: `invalid_tool_input: ${why}` },
    ]);
    expect(JSON.stringify(read(turn, 1))).toContain(why);
  });
});
