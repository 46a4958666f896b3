import { describe, expect, it } from "vitest";
import { clientOf, failureOf, speaking } from "../../support/client.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { planning } from "../../support/planning.ts";

describe("variables", () => {
  it("hold bytes, with or without a media type", async () => {
    await withRuntime(speaking([]).options, async (own) => {
      const { variables } = clientOf(own).conversation("c");
      const bytes = new Uint8Array([0, 1, 255]);
      expect(await variables.put("raw", bytes)).toMatchObject({ type: "bytes", count: 3 });
      expect(await variables.get("raw")).toEqual(bytes);
      const image = await variables.put("image", new Blob([bytes], { type: "image/png" }));
      expect(image.mediaType).toBe("image/png");
      const csv = await variables.put("csv", new TextEncoder().encode("a,b"), {
        contentType: "text/csv",
      });
      expect(csv.mediaType).toBe("text/csv");
      const part = await variables.open("raw", {}, { range: "bytes=1-1" });
      expect([part.status, new Uint8Array(await part.arrayBuffer())]).toEqual([
        206,
        new Uint8Array([1]),
      ]);
    });
  });

  it("are interpolated into a text", async () => {
    await withRuntime(speaking([]).options, async (own) => {
      const conversation = clientOf(own).conversation("c");
      await conversation.variables.put("city", "Oslo");
      expect(await conversation.interpolate("In {{city}}, {{gone}}.")).toMatchObject({
        text: "In Oslo, {{gone}}.",
        unresolved: [{ reference: "{{gone}}" }],
      });
      expect((await conversation.interpolate("In $city.", "dollar")).text).toBe("In Oslo.");
    });
  });
});

it("plans are proposed as workflows and templates, and refused with their findings", async () => {
  await withRuntime(planning(), async (own) => {
    const { plans } = clientOf(own).conversation("c");
    const xml = '<capability name="variable" action="set" key="kept">Yes</capability>';
    const { format } = await plans.propose({ xml });
    expect(format).toBe("capability-xml");
    const template = await plans.propose({
      template: "@input variable:notes\nTell of the notes.",
    });
    expect(template.format).toBe("template");
    const wrong = await failureOf(plans.propose({ xml: '<capability name="echo' }));
    expect(wrong.details.findings).toMatchObject([{ code: "bad_xml" }]);
    const { code, details } = await failureOf(plans.propose({ template: "@input web:x\nGo." }));
    expect(code).toBe("invalid_plan");
    expect(details.findings).toMatchObject([{ code: "bad_directive", line: 1 }]);
    const failure = await failureOf(plans.propose({ calls: [{ _tool: "nobody" }] }));
    expect(failure.details.findings).toMatchObject([{ code: "unknown_tool" }]);
  });
});
