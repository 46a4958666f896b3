import { MemoryStore, withToolVariables } from "byref/mastra";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { agentOf, ScriptedModel, type Step } from "../scripted-model.ts";

const store = new MemoryStore();
const answer = "First $rows[0].city, then $city: $$5, $rows[1].at and `$city`, at $unknown. $city";
const shown = "First Paris, then Oslo: $$5, 9 and `$city`, at $unknown. Oslo";

beforeAll(async () => {
  await store.save({ name: "rows", value: [{ city: "Paris" }, { at: 9 }] });
  await store.save({ name: "city", value: "Oslo" });
});

function writerOf(steps: readonly Step[]) {
  return withToolVariables(agentOf(new ScriptedModel(steps)), { store });
}

/** Splits the text at these offsets. */
function cut(text: string, places: readonly number[]): readonly string[] {
  const all = [0, ...places.toSorted((a, b) => a - b), text.length];
  return all.slice(1).map((end, index) => text.slice(all[index], end));
}

async function textOf(stream: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += chunk;
  return text;
}

describe("a streamed answer", () => {
  it("is the same however it is cut, in every form", async () => {
    const whole = (await writerOf([{ text: answer }]).generate("Write.")).text;
    const places = fc.array(fc.nat(answer.length), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(places, async (at) => {
        const stream = await writerOf([{ text: cut(answer, at) }]).stream("Write.");
        expect(await textOf(stream.textStream)).toBe(whole);
        let full = "";
        for await (const chunk of stream.fullStream) {
          if (chunk.type === "text-delta") full += chunk.payload.text;
        }
        expect(full).toBe(whole);
        expect(await stream.text).toBe(whole);
        expect((await stream.getFullOutput()).text).toBe(whole);
      }),
      { numRuns: 40 },
    );
    expect(whole).toBe(shown);
  });

  it("arrives as it is written, apart from a reference that has begun", async () => {
    const stream = await writerOf([{ text: ["One ", "two $ci", "ty", " three"] }]).stream("Write.");
    const chunks: string[] = [];
    for await (const chunk of stream.textStream) chunks.push(chunk);
    expect(chunks[0]).toBe("One ");
    expect(chunks.join("")).toBe("One two Oslo three");
    expect(chunks.length).toBeGreaterThan(2);
  });

  it("stays an output of Mastra, with the rest as it was recorded", async () => {
    const stream = await writerOf([{ text: "$city" }]).stream("Write.");
    expect(await stream.text).toBe("Oslo");
    expect((await stream.steps).map(({ text }) => text)).toEqual(["$city"]);
    expect(await stream.finishReason).toBe("stop");
    expect(stream.runId).toMatch(/\S/);
    expect(JSON.stringify(stream.messageList.get.response.db())).toContain("$city");
  });
});
