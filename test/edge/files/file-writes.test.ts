import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import type { FileSummary } from "../../../src/edge/files/file-page.ts";
import { fileEndpoints } from "../../../src/edge/routes/files.ts";
import * as limits from "../../../src/limits.ts";
import { call, newId, problemIn, put } from "../../support/edge.ts";
import { at, body, folderOf, list, save } from "../../support/files.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { scriptedModel } from "../../../packages/testing/src/testing.ts";
import { slow } from "../../support/slow.ts";
import { anyBytes } from "../../support/values.ts";

describe("a condition", () => {
  it("guards a file against lost updates", async () => {
    const id = newId();
    const write = (headers: Record<string, string>, content = "new") =>
      call("PUT", at(id, "/a.txt"), body(content, "text/plain", headers));
    await problemIn(await write({ "if-match": "*" }), "precondition_failed");
    // A rejected first write leaves no conversation.
    await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
    expect((await write({ "if-none-match": "*" })).status).toBe(201);
    await problemIn(await write({ "if-none-match": "*" }), "precondition_failed");
    const { etag } = (await list(id)).files[0] as FileSummary;
    expect((await write({ "if-match": etag })).status).toBe(200);
    await problemIn(await write({ "if-match": etag }), "precondition_failed");
    const stale = { headers: { "if-match": etag } };
    await problemIn(await call("DELETE", at(id, "/a.txt"), stale), "precondition_failed");
    expect((await list(id)).files).toHaveLength(1);
  });

  it("lets one of several concurrent writers through", slow, async () => {
    const id = newId();
    const { etag } = await save(id, "/a.bin", "old");
    const contents = Array.from({ length: 4 }, (_, index) => anyBytes(8_388_608 + index));
    const responses = await Promise.all(
      contents.map((content) =>
        call("PUT", at(id, "/a.bin"), body(content, "image/png", { "if-match": etag })),
      ),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
    const served = await (await call("GET", at(id, "/a.bin"))).arrayBuffer();
    const winner = contents[responses.findIndex(({ status }) => status === 200)];
    expect(served.byteLength).toBe(winner?.byteLength);
  });
});

describe("a path", () => {
  it.each([
    ["a%2Fb.txt", "an encoded slash"],
    ["a%2f..%2fb", "an encoded traversal"],
    ["..%2F..%2Fother", "an encoded way out"],
    ["a//b.txt", "an empty segment"],
    ["/a.txt", "an empty first segment"],
    ["a%5Cb", "a backslash"],
    ["a%00b", "a null"],
    ["a%0Ab", "a line feed"],
    ["%ED%A0%80", "a surrogate"],
    ["%FF", "invalid UTF-8"],
    ["file:file:a", "a second scheme"],
    ["x".repeat(201), "201 characters"],
  ])("%s is refused: %s", async (path) => {
    const id = newId();
    for (const method of ["GET", "PUT", "DELETE"]) {
      const init = method === "PUT" ? body("a") : {};
      await problemIn(await call(method, at(id, `/${path}`), init), "bad_path");
    }
    await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
  });

  it("that a client resolves leads to another route, and never out of the folder", async () => {
    const id = newId();
    await put(id, "v", 1);
    for (const path of ["/../variables", "/%2e%2e/variables", "/a/%2E%2E/../variables"]) {
      const response = await call("GET", at(id, path));
      expect(await response.json()).toMatchObject({ variables: [{ name: "v" }] });
    }
    await problemIn(await call("PUT", at(id, "/a/"), body("a")), "not_found");
  });

  it("may have 200 characters of any script", async () => {
    const id = newId();
    const path = "ü".repeat(99) + "/" + "😀".repeat(50);
    await save(id, `/${path}`, "x");
    expect((await list(id)).files.map((file) => file.path)).toEqual([path]);
    expect(await (await call("GET", at(id, `/${path}`))).text()).toBe("x");
  });
});

describe("a file's guards", () => {
  it("are those of what was written to it", async () => {
    const id = newId();
    await save(id, "/other.txt", "x");
    const content = { text: "key", mediaType: "text/plain" };
    await folderOf(id).write("key.txt", content, { visibility: "secret", sources: [] });
    await problemIn(await call("GET", at(id, "/key.txt")), "variable_secret");
    // A file that replaces a secret is secret too, unless the request sets another visibility.
    expect(await save(id, "/key.txt", "another")).toMatchObject({ visibility: "secret" });
    expect((await folderOf(id).info("key.txt"))?.labels).toMatchObject({
      visibility: "secret",
      sources: ["caller"],
    });
    await problemIn(await call("GET", at(id, "/key.txt")), "variable_secret");
    const init = body("open");
    expect((await call("PUT", at(id, "/key.txt?visibility=model"), init)).status).toBe(200);
    expect(await (await call("GET", at(id, "/key.txt"))).text()).toBe("open");
  });
});

describe("a file that cannot be saved", () => {
  it("is longer than a value may be", async () => {
    const id = newId();
    const long = String(limits.maxValueBytes + 1);
    const init = body("x", "text/plain", { "content-length": long });
    await problemIn(await call("PUT", at(id, "/a.txt"), init), "body_too_large");
  });

  it("exceeds the number of files, or their total size", async () => {
    const id = newId();
    await save(id, "/a.txt", "a");
    const real = env.BLOBS.list.bind(env.BLOBS);
    const objectsOf = (count: number, size: number) => async (options?: R2ListOptions) => ({
      ...(await real(options)),
      objects: Array.from({ length: count }, (_, key) => ({ key: String(key), size })),
      truncated: false,
    });
    const listing = vi.spyOn(env.BLOBS, "list") as unknown as {
      mockImplementation(list: unknown): void;
      mockRestore(): void;
    };
    const write = () => call("PUT", at(id, "/b.txt"), body("bb"));
    listing.mockImplementation(objectsOf(limits.maxFiles, 0));
    expect(await problemIn(await write(), "limit_exceeded")).toMatchObject({
      limit: "maxFiles",
      actual: limits.maxFiles + 1,
    });
    listing.mockImplementation(objectsOf(1, limits.maxFilesBytes - 1));
    expect(await problemIn(await write(), "limit_exceeded")).toMatchObject({
      limit: "maxFilesBytes",
    });
    listing.mockImplementation(objectsOf(1, limits.maxFilesBytes - 2));
    expect((await write()).status).toBe(201);
    listing.mockRestore();
    expect((await list(id)).files.map(({ path }) => path)).toEqual(["a.txt", "b.txt"]);
  });

  it("has an unsupported content type", async () => {
    const id = newId();
    const form = body("a=1", "application/x-www-form-urlencoded");
    await problemIn(await call("PUT", at(id, "/a.txt"), form), "unsupported_media_type");
  });

  it("is incomplete: nothing of it is visible", async () => {
    const id = newId();
    await save(id, "/a.txt", "old");
    const broken = new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode("new"));
        controller.error(new Error("The client has gone."));
      },
    });
    const response = await call("PUT", at(id, "/a.txt"), body(broken)).catch(() => undefined);
    expect(response?.ok ?? false).toBe(false);
    expect(await (await call("GET", at(id, "/a.txt"))).text()).toBe("old");
  });

  it("has no bucket", async () => {
    const options = { agents: [agent], model: scriptedModel([]), files: fileEndpoints } as const;
    await withRuntime(
      options,
      async (own) => {
        for (const [method, path] of [
          ["GET", ""],
          ["GET", "/a.txt"],
          ["PUT", "/a.txt"],
          ["DELETE", "/a.txt"],
        ] as const) {
          const init = method === "PUT" ? body("a") : {};
          const told = await problemIn(
            await own.call(method, at("c", path), init),
            "not_configured",
          );
          expect(told.detail).toContain("[[r2_buckets]]");
        }
      },
      { bindings: { BLOBS: undefined } },
    );
  });
});

const agent = { name: "a", description: "", instructions: "", tools: {} };
