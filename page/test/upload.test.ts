import { describe, expect, it } from "vitest";
import { requireName } from "../../src/store/names.ts";
import { decoded, kindOfFile, uploadOf, variableName } from "../src/variables/uploads.tsx";

describe("the variable name for a file", () => {
  it.each([
    ["orders.csv", "orders"],
    ["Sales Q1 (final).csv", "Sales_Q1_final"],
    ["Übersicht – März.json", "Ubersicht_Marz"],
    ["2024-01.csv", "file_2024_01"],
    ["input.json", "file_input"],
    ["日本.txt", "file"],
  ])("%s becomes %s", (file, name) => {
    expect(variableName(file)).toBe(name);
  });

  it("is valid on the server, however long the file's name is", () => {
    for (const file of [`${"9".repeat(200)}.csv`, `${"a b".repeat(90)}.json`, "", "…", "__.x"]) {
      expect(requireName(variableName(file))).toBe(variableName(file));
    }
  });
});

describe("an uploaded file", () => {
  it.each([
    ["a.CSV", "application/vnd.ms-excel", "csv"],
    ["a.jsonl", "", "records"],
    ["a", "application/ld+json", "json"],
    ["a.png", "image/png", "bytes"],
    ["a.constructor", "", "bytes"],
  ])("%s of type %s is %s", (name, type, kind) => {
    expect(kindOfFile({ name, type })).toBe(kind);
  });

  it.each([
    ["Windows-1252", [0x61, 0x0a, 0xe9, 0x0a]],
    ["UTF-8 with a mark", [0xef, 0xbb, 0xbf, 0x61, 0x0a, 0xc3, 0xa9, 0x0a]],
    ["UTF-16 (mistval/kotoba#95)", [0xff, 0xfe, 0x61, 0, 0x0a, 0, 0xe9, 0, 0x0a, 0]],
    ["big-endian UTF-16", [0xfe, 0xff, 0, 0x61, 0, 0x0a, 0, 0xe9, 0, 0x0a]],
  ])("is sent as UTF-8 if it is a CSV in %s", async (_, codes) => {
    const bytes = new Uint8Array(codes);
    const upload = await uploadOf(new File([bytes], "old.csv"));
    expect(upload).toMatchObject({ name: "old", contentType: "text/csv", delimiter: "auto" });
    expect(await upload.body.text()).toBe("a\né\n");
  });

  it("is sent as UTF-8 if it is JSON from PowerShell (gcarreno/laz-JSON-Viewer#19)", async () => {
    const bytes = Buffer.from('\uFEFF{"a":"é"}', "utf16le");
    const upload = await uploadOf(new File([bytes], "a.json"));
    expect(await upload.body.text()).toBe('{"a":"é"}');
  });

  it.each([
    ["zh-CN", "城市", [0xb3, 0xc7, 0xca, 0xd0]],
    ["ja", "都市", [0x93, 0x73, 0x8e, 0x73]],
    ["fr", "é", [0xe9]],
  ])(
    "is read in the old encoding of the language %s (objectstack-ai/objectui#2556)",
    (language, text, codes) => {
      expect(decoded(new Uint8Array(codes).buffer, language)).toBe(text);
    },
  );

  it("is refused if it is a folder, which cannot be read (pingdotgg/t3code#11961)", async () => {
    const folder = Object.assign(new File(["x"], "folder"), {
      slice: () => ({ arrayBuffer: () => Promise.reject(new Error("NotFoundError")) }),
    });
    await expect(uploadOf(folder)).rejects.toThrow("It cannot be read.");
  });

  it("is sent as bytes with its type if it is neither text nor JSON", async () => {
    const upload = await uploadOf(new File(["x"], "a.zip", { type: "application/zip" }));
    expect(upload.contentType).toBe("application/zip");
    expect((await uploadOf(new File(["x"], "a.qqq"))).contentType).toBe("application/octet-stream");
  });
});
