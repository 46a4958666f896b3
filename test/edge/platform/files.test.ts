import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { filesIn, R2Files } from "../../../src/edge/platform/r2-files.ts";
import * as limits from "../../../src/limits.ts";
import { writeFile, type Writing } from "../../../packages/plan-formats/src/template/write-file.ts";
import type { Files } from "../../../src/tool/files.ts";
import { slow } from "../../support/slow.ts";
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

describe("files", () => {
  /** Creates the folder of a new conversation. */
  function folder(): { readonly prefix: string; readonly files: Files } {
    const prefix = `${crypto.randomUUID()}/`;
    const files = filesIn(env, prefix);
    if (files === undefined) throw new Error("There is no bucket.");
    return { prefix, files };
  }

  const text = (written: string) => ({ text: written, mediaType: "text/plain" });
  const sealed = {
    visibility: "sealed",
    sources: ["tool:crm"],
    trusted: false,
    flags: ["derived", "composed"],
  } as const;

  describe("a conversation's files in R2", () => {
    it("are untrusted if somebody else has put them there", async () => {
      const { prefix, files } = folder();
      await env.BLOBS.put(`${prefix}files/a.md`, "hello");
      await env.BLOBS.put(`${prefix}files/b.md`, "hello", {
        customMetadata: { visibility: "private", trusted: "yes", sources: "{", addition: "[1]" },
      });
      const unknown = { sources: ["bucket"], trusted: false };
      expect((await files.read("a.md"))?.labels).toEqual({ ...unknown, visibility: "model" });
      expect((await files.read("b.md"))?.labels).toEqual({ ...unknown, visibility: "secret" });
      expect((await files.read("b.md"))?.addition).toBeUndefined();
    });

    it("belong to one conversation", async () => {
      const { prefix, files } = folder();
      await folder().files.write("a.md", text("another's"), {});
      await env.BLOBS.put(`${prefix}values/a.md`, "no file");
      await env.BLOBS.put(`${prefix}filesa.md`, "no file");
      expect(await files.list("")).toEqual([]);
      for (const path of ["../../values/a.md", "/a.md", "a/../../b", "", "a//b", "./a", "a\\b"]) {
        await expect(files.read(path)).rejects.toMatchObject({ code: "bad_path" });
        await expect(files.info(path)).rejects.toMatchObject({ code: "bad_path" });
        await expect(files.write(path, text(""), {})).rejects.toMatchObject({ code: "bad_path" });
      }
      // The prefix of a listing is a part of keys, not a path.
      expect(await files.list("../../")).toEqual([]);
    });

    it("are listed in pages", slow, async () => {
      const { prefix, files } = folder();
      const put = (from: number, to: number) =>
        Promise.all(
          Array.from({ length: to - from }, (_, index) =>
            env.BLOBS.put(`${prefix}files/n/${from + index}.md`, ""),
          ),
        );
      await files.write("other.md", text(""), {});
      await put(0, 1_002);
      const listed = await files.list("n/");
      expect(new Set(listed).size).toBe(1_002);
      expect(await files.list("n/1001")).toHaveLength(1);
      expect(await files.list("")).toHaveLength(1_003);
    });
  });

  describe("a listing", () => {
    /** A bucket with this many keys under every prefix. */
    const bucketOf = (count: number) => ({
      asked: 0,
      async list({ prefix, cursor = "0" }: { prefix: string; cursor?: string }) {
        this.asked++;
        const from = Number(cursor);
        const to = Math.min(from + 1_000, count);
        const objects = Array.from({ length: to - from }, (_, index) => ({
          key: `${prefix}${from + index}`,
        }));
        return to < count ? { objects, truncated: true, cursor: String(to) } : { objects };
      },
    });
    const listing = (bucket: object) => new R2Files(bucket as unknown as R2Bucket, "c/").list("n/");

    it("has at most 5,000 files", async () => {
      expect(await listing(bucketOf(4_999))).toHaveLength(4_999);
      expect(await listing(bucketOf(5_000))).toHaveLength(5_000);
      const bucket = bucketOf(100_000);
      await expect(listing(bucket)).rejects.toMatchObject({ code: "limit_exceeded" });
      expect(bucket.asked).toBe(6);
      await expect(listing(bucketOf(5_001))).rejects.toMatchObject({ code: "limit_exceeded" });
    });
  });

  describe("a file that cannot be read", () => {
    it("is larger than the object may hold", slow, async () => {
      const { files } = folder();
      const body = (chars: number) => text("x".repeat(chars));
      await files.write("a.txt", body(limits.maxJsonBytes), {});
      expect((await files.read("a.txt"))?.text).toHaveLength(limits.maxJsonBytes);
      await files.write("a.txt", body(limits.maxJsonBytes + 1), {});
      await expect(files.read("a.txt")).rejects.toMatchObject({
        code: "limit_exceeded",
        message: expect.stringContaining("file:a.txt"),
      });
      expect(await files.info("a.txt")).toBeDefined();
    });
  });

  describe("a write that expects a version", () => {
    it("is refused where somebody else has written", async () => {
      const { files } = folder();
      await files.write("a.md", text("one"), { expected: null });
      await expect(files.write("a.md", text("two"), { expected: null })).rejects.toMatchObject({
        code: "conflict",
      });
      const { version = "" } = (await files.info("a.md")) ?? {};
      await files.write("a.md", text("two"), { expected: version });
      await expect(files.write("a.md", text("three"), { expected: version })).rejects.toMatchObject(
        {
          code: "conflict",
        },
      );
      expect((await files.read("a.md"))?.text).toBe("two");
      await expect(files.write("b.md", text(""), { expected: version })).rejects.toMatchObject({
        code: "conflict",
      });
    });
  });

  describe("an answer in a file", () => {
    const labels = { visibility: "model", sources: ["agent:test"], trusted: true } as const;
    const writing = (about: Partial<Writing>): Writing => ({
      path: "a.md",
      value: "A",
      mode: "append",
      labels,
      call: "c/run/1",
      ...about,
    });

    it("is appended, once for each call", async () => {
      const { files } = folder();
      await files.write("a.md", text("old"), sealed);
      await writeFile(files, writing({}));
      await writeFile(files, writing({ value: "B" }));
      await writeFile(files, writing({ value: "C", call: "c/run/2" }));
      expect(await files.read("a.md")).toMatchObject({
        text: "old\n\nB\n\nC",
        labels: { visibility: "sealed", sources: ["tool:crm", "agent:test"], trusted: false },
      });
    });

    it("keeps all of several concurrent appends", async () => {
      const { files } = folder();
      const calls = ["1", "2", "3"];
      await Promise.all(calls.map((call) => writeFile(files, writing({ value: call, call }))));
      const { text: written = "" } = (await files.read("a.md")) ?? {};
      expect(written.split("\n\n").toSorted()).toEqual(calls);
    });
  });
});

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
