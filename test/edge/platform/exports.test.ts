import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/turn/agent.ts";
import { json } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import {
  finish,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "../../../packages/testing/src/testing.ts";

const agent: Agent = { name: "test", description: "For tests.", instructions: "Help.", tools: {} };
const asked = finish("tool-calls");

interface Exported {
  readonly file: string;
  readonly name?: string;
}

/** Prepares a turn that exports a variable, and passes its runtime to `work`. */
function exporting({ file, name = "rows" }: Exported, work: (own: OwnRuntime) => Promise<void>) {
  const steps: Step[] = [
    [toolCall("export_variable", { name, file }), asked],
    [text("Done."), finish()],
  ];
  const model = scriptedModel(steps);
  return withRuntime({ agents: [agent], model }, async (own) => {
    const put = async (path: string, value: unknown) =>
      own.call("PUT", `/conversations/c/variables/${path}`, json(value));
    // `json` sets no method: only a body and a content type.
    await put("rows", [{ id: 1, name: 'a "b"' }]);
    await put("patients?visibility=sealed", [{ ssn: "078" }]);
    const turn = json({ message: "Export." }, { accept: "application/json" });
    const response = await own.call("POST", "/conversations/c/messages", turn);
    expect(response.status).toBe(200);
    await response.arrayBuffer();
    await work(own);
    return JSON.stringify(model.calls.at(-1)?.prompt);
  });
}

function fileAt(own: OwnRuntime, path: string) {
  return env.BLOBS.get(`${own.state.id}/files/${path}`);
}

describe("an exported variable", () => {
  it("has the guard of its value", async () => {
    const shown = await exporting({ file: "file:p.json", name: "patients" }, async (own) => {
      const object = await fileAt(own, "p.json");
      expect(await object?.json()).toEqual([{ ssn: "078" }]);
      expect(object?.customMetadata).toMatchObject({ visibility: "sealed derived" });
    });
    expect(shown).not.toContain("078");
  });

  it.each(["file:../other/x.json", "file:/etc/x.json", "file:a/../../x.json", "file:\u0000.json"])(
    "stays in its conversation's folder: %j",
    async (file) => {
      const shown = await exporting({ file }, async (own) => {
        const { objects } = await env.BLOBS.list({ prefix: `${own.state.id}/files/` });
        expect(objects).toEqual([]);
      });
      expect(shown).toContain("bad_");
    },
  );
});
