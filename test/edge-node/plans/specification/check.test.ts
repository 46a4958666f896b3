import { describe, expect, it } from "vitest";
import {
  type Calls,
  offer,
  PLANS,
  refused,
  taken,
  withPlanner,
} from "../../../support/plan-requests.ts";

const echo = (id: string, value: unknown, path?: string) => ({
  _id: id,
  _tool: "echo",
  value,
  ...(path === undefined ? {} : { _outputPath: path }),
});

/** The only finding of these calls. */
async function findingOf(calls: Calls) {
  return withPlanner({}, async ({ own, seen }) => {
    const findings = await refused(offer(own, calls));
    expect(seen).toEqual([]);
    expect((await own.call("GET", PLANS)).status).toBe(200);
    expect(findings).toHaveLength(1);
    return findings[0];
  });
}

describe("each finding says the call and the place", () => {
  it("an unknown tool", async () => {
    const found = await findingOf([{ _id: "x", _tool: "nope" }]);
    expect(found).toMatchObject({ code: "unknown_tool", call: "x", at: expect.any(String) });
    expect(found?.message).toContain("nope");
  });

  it.each([
    ["a literal of another type", { _id: "x", _tool: "add", a: "one", b: 2 }, "a"],
    ["a missing parameter", { _id: "x", _tool: "add", a: 1 }, "b"],
    ["a number where a text belongs", { _id: "x", _tool: "verify", userId: 7 }, "userId"],
    [
      "an embedded reference, a text, for a number",
      { _id: "x", _tool: "add", a: "no †input.n", b: 1 },
      "a",
    ],
  ])("parameters that can't fit: %s", async (_, call, at) => {
    const found = await findingOf([call]);
    expect(found).toMatchObject({ call: "x", code: expect.any(String) });
    expect(`${found?.at} ${found?.message}`).toContain(at);
  });

  it("a reference nobody produces, with the parameter in which it stands", async () => {
    const found = await findingOf([echo("x", { deep: ["†state.nowhere"] })]);
    expect(found).toMatchObject({ code: "no_producer", call: "x" });
    expect(found?.at).toContain("value");
    expect(found?.at).toContain("deep");
    expect(found?.message).toContain("state.nowhere");
  });

  it("the same inside a text", async () => {
    const found = await findingOf([echo("x", "Hello †state.nowhere!")]);
    expect(found).toMatchObject({ code: "no_producer", call: "x" });
  });

  it("a sibling of what is produced", async () => {
    const found = await findingOf([echo("w", 1, "†state.user.name"), echo("x", "†state.user.age")]);
    expect(found).toMatchObject({ code: "no_producer", call: "x" });
  });

  it("a name that only begins alike", async () => {
    const found = await findingOf([echo("w", 1, "†state.user"), echo("x", "†state.username")]);
    expect(found).toMatchObject({ code: "no_producer", call: "x" });
  });

  it("two producers of one path", async () => {
    const found = await findingOf([echo("one", 1, "†state.a"), echo("two", 2, "†state.a")]);
    expect(found).toMatchObject({ code: "duplicate_producer", at: expect.any(String) });
    expect(["one", "two"]).toContain(found?.call);
    expect(found?.message).toContain("state.a");
  });

  it.each([
    ["an alternative", "†state.b || †state.a"],
    ["one of a fan-out", "†state.b && †state.a"],
  ])("two producers, of which one is %s", async (_, path) => {
    const found = await findingOf([echo("one", 1, "†state.a"), echo("two", 2, path)]);
    expect(found).toMatchObject({ code: "duplicate_producer" });
  });

  it("a cycle, with its path", async () => {
    const found = await findingOf([
      echo("first", "†state.c", "†state.a"),
      echo("second", "†state.a", "†state.b"),
      echo("third", "†state.b", "†state.c"),
    ]);
    expect(found?.code).toBe("cycle");
    for (const id of ["first", "second", "third"]) expect(found?.message).toContain(id);
  });

  it("and where it begins", async () => {
    const found = await findingOf([
      echo("first", "†state.b", "†state.a"),
      echo("second", "†state.a", "†state.b"),
    ]);
    expect(found).toMatchObject({ call: expect.any(String), at: expect.any(String) });
  });

  it("a call that reads what it writes", async () => {
    expect((await findingOf([echo("x", "†state.a", "†state.a")]))?.code).toBe("cycle");
  });

  it("a cycle through a prefix and something below", async () => {
    const found = await findingOf([
      echo("up", "†state.b.deep", "†state.a.x"),
      echo("down", "†state.a", "†state.b"),
    ]);
    expect(found?.code).toBe("cycle");
  });

  it.each([
    "† state.x",
    "state.x",
    "†input.x",
    "†input",
    "†state.",
    "†state..x",
    "†state.x ||",
    "†state.x || state.y",
    "†state.x && †input.y",
    "†state.x || † state.y",
    "†state.x || †state.y && †state.z",
    "Hello †state.x",
  ])("an output path %j", async (path) => {
    const found = await findingOf([echo("x", 1, path)]);
    expect(found).toMatchObject({ code: "bad_output_path", call: "x" });
    expect(found?.at).toContain("_outputPath");
  });

  it("an output path that is no text", async () => {
    await withPlanner({}, async ({ own }) => {
      const response = await offer(own, [{ _tool: "echo", value: 1, _outputPath: 7 }]);
      expect([400, 422]).toContain(response.status);
    });
  });
});

describe("findings", () => {
  it("come all at once, each with its own call", () =>
    withPlanner({}, async ({ own, seen }) => {
      const findings = await refused(
        offer(own, [
          { _id: "a", _tool: "nope", _outputPath: "†state.a" },
          echo("b", "†state.nowhere", "†input.b"),
          { _id: "c", _tool: "add", a: true, b: 1 },
          echo("d", "†state.e", "†state.d"),
          echo("e", "†state.d", "†state.e"),
          echo("f", 1, "†state.f"),
          echo("g", 1, "†state.f"),
        ]),
      );
      const of = (code: string) => findings.filter((one) => one.code === code);
      expect(of("unknown_tool")).toMatchObject([{ call: "a" }]);
      expect(of("no_producer")).toMatchObject([{ call: "b" }]);
      expect(of("bad_output_path")).toMatchObject([{ call: "b" }]);
      expect(of("cycle")).toHaveLength(1);
      expect(of("duplicate_producer")).toHaveLength(1);
      expect(findings.some(({ call }) => call === "c")).toBe(true);
      expect(findings).toHaveLength(6);
      expect(seen).toEqual([]);
    }));

  it("leave no plan behind", () =>
    withPlanner({}, async ({ own }) => {
      await refused(offer(own, [{ _tool: "nope" }]));
      expect(await (await own.call("GET", PLANS)).json()).toEqual({ plans: [] });
    }));

  it("are none for what is right", () =>
    withPlanner({}, async ({ own }) => {
      const fine: readonly Calls[] = [
        [echo("a", "$5 and {{state.x}} and $state.y")],
        [echo("a", "\\†state.nowhere")],
        [echo("a", "†input.anything.at[0].all")],
        [echo("a", 1, "†state.a"), { _tool: "add", a: "†state.a", b: "†state.a" }],
        [echo("a", 1, "†state.a || †state.b"), echo("b", "†state.a || †state.b")],
        [],
      ].filter((calls) => calls.length > 0);
      for (const calls of fine) expect((await taken(offer(own, calls))).findings).toEqual([]);
    }));
});
