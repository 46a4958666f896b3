import { describe, expect, it } from "vitest";
import { all, clientOf, failureOf, speaking } from "../../support/client.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { planning } from "../../support/planning.ts";

describe("variables", () => {
  it("are put, read, listed, changed and deleted", async () => {
    await withRuntime(speaking([]).options, async (own) => {
      const { variables } = clientOf(own).conversation("c");
      const rows = [{ id: 1 }, { id: 2 }];
      const info = await variables.put("rows", rows, { ttl: 60, description: "Rows." });
      expect(info).toMatchObject({ name: "rows", type: "array", count: 2, description: "Rows." });
      expect(await variables.get("rows")).toEqual(rows);
      expect(await variables.get<number>("rows", { path: "[1].id" })).toBe(2);
      expect(await variables.get("rows", { offset: 1, limit: 1 })).toEqual([{ id: 2 }]);
      await variables.put("rows", [{ id: 3 }], { mode: "append" });
      expect((await variables.info("rows")).count).toBe(3);
      const patched = await variables.patch("rows", { pinned: true, ttl: null });
      expect(patched).toMatchObject({ pinned: true });
      for (const value of ["text", 'a "quoted" text', 1, null, true, { a: [] }]) {
        await variables.put("one", value);
        expect(await variables.get("one")).toEqual(value);
      }
      const named = async (query?: Parameters<typeof variables.list>[0]) =>
        (await variables.list(query)).variables.map(({ name }) => name);
      expect(await named()).toEqual(["rows", "one"]);
      expect(await named({ names: ["rows", "gone"] })).toEqual(["rows"]);
      expect(await named({ last: 1 })).toEqual(["one"]);
      await variables.delete("one");
      expect(await failureOf(variables.info("one"))).toMatchObject({ code: "variable_not_found" });
      await variables.put("two", 2);
      expect(await variables.reset()).toEqual({ deleted: expect.arrayContaining(["two"]) });
    });
  });

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

  it("are guarded against lost updates", async () => {
    await withRuntime(speaking([]).options, async (own) => {
      const { variables } = clientOf(own).conversation("c");
      await variables.put("x", 1, { ifNoneMatch: "*" });
      const etag = (await variables.open("x")).headers.get("etag") ?? "";
      expect((await variables.open("x", {}, { "if-none-match": etag })).status).toBe(304);
      await variables.put("x", 2, { ifMatch: etag });
      const late = [
        () => variables.put("x", 3, { ifMatch: etag }),
        () => variables.patch("x", { pinned: true }, { ifMatch: etag }),
        () => variables.delete("x", { ifMatch: etag }),
      ];
      for (const work of late) {
        const { code, status, details } = await failureOf(work());
        expect([code, status]).toEqual(["precondition_failed", 412]);
        expect(details.etag).not.toBe(etag);
      }
      expect(await variables.get("x")).toBe(2);
      const info = await variables.openInfo("x");
      const ifMatch = info.headers.get("etag") ?? "";
      await info.body?.cancel();
      await variables.patch("x", { pinned: true }, { ifMatch });
      const lost = await failureOf(variables.patch("x", { pinned: false }, { ifMatch }));
      expect(lost.code).toBe("precondition_failed");
      expect((await variables.list({ names: ["x", "y"] })).missing).toEqual(["y"]);
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

describe("plans", () => {
  const calls = [
    { _tool: "echo", _id: "a", value: "†input.name", _outputPath: "†state.name" },
    { _tool: "echo", _id: "b", value: { ok: "†approvals.legal", name: "†state.name" } },
  ];

  it("are proposed, approved and run; a gate is opened; a run's end comes last", async () => {
    await withRuntime(planning(), async (own) => {
      const conversation = clientOf(own).conversation("c");
      const { plans, approvals } = conversation;
      const { id, status } = await plans.propose({ name: "Greet", calls });
      expect(status).toBe("proposed");
      expect(await failureOf(plans.run(id).json())).toMatchObject({ code: "plan_not_approved" });
      expect((await plans.approve(id)).status).toBe("approved");
      const chunks = await all(plans.run(id, { input: { name: "Ada" } }));
      const last = chunks.at(-1);
      expect(last?.type === "data-run" ? last.data : last).toMatchObject({
        status: "waiting",
        state: { name: "Ada" },
      });
      const opened = approvals.decide("legal", { approved: true }).json();
      expect(await opened).toMatchObject({ status: "done" });
      expect((await plans.get(id)).runs.map(({ status }) => status)).toEqual(["done"]);
      const other = await plans.propose({ calls });
      expect((await plans.cancel(other.id)).status).toBe("cancelled");
      expect((await plans.list()).plans.map((plan) => plan.id)).toEqual([id, other.id]);
    });
  });

  it("are proposed as workflows and templates, and refused with their findings", async () => {
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
});
