import { describe, expect, it } from "vitest";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Found, Lookup, Missing } from "../../src/reference/lookup.ts";
import {
  describe as described,
  problemFrom,
  ReferenceProblem,
} from "../../src/reference/reference-problem.ts";
import {
  interpolate,
  resolveReferences,
  type ResolveOptions,
} from "../../src/reference/resolve.ts";
import type { Json } from "../../src/value/json.ts";

const variables = { temp: 72, city: "New York", list: ["a"], empty: {} };
const missing = (about: Partial<Missing>): Missing => ({ found: false, reason: "path", ...about });

/** Creates a lookup with these answers, and with the variables for all other names. */
function answering(answers: Readonly<Record<string, Found | Missing>>): Lookup {
  const known = lookupIn(variables);
  return (reference) => answers[reference.name] ?? known(reference);
}

async function problemOf(input: Json, lookup: Lookup, options?: ResolveOptions): Promise<unknown> {
  const resolving = resolveReferences(input, lookup, options);
  return resolving.then(
    () => "It was resolved.",
    (error: unknown) => error,
  );
}

describe("an error about a reference", () => {
  const [unknown, none] = [{ reason: "unknown" }, "variable_not_found"] as const;

  it.each<[Partial<Missing>, string, string]>([
    [unknown, none, "is not a variable."],
    [{ ...unknown, near: ["y"] }, none, "is not a variable. Did you mean y?"],
    [{ ...unknown, near: ["y", "z"] }, none, "is not a variable. Did you mean y or z?"],
    [{ reason: "evicted" }, "variable_evicted", "has been evicted."],
    [{ reason: "secret" }, "variable_secret", "is secret and cannot be used here."],
    [{ reason: "unreadable" }, "limit_exceeded", "leads nowhere."],
    [{}, "path_not_found", "leads nowhere."],
    [{ nearest: "x" }, "path_not_found", "leads nowhere. x exists."],
    [{ nearest: "x", keys: [] }, "path_not_found", "leads nowhere. x has the keys (none)."],
  ])("for %j has the code %s and the message: $x %s", (about, code, said) => {
    const expected = { code, message: `$x ${said}` };
    expect(described("$x", missing(about))).toMatchObject(expected);
    const problem = problemFrom("$x", missing(about));
    expect(problem).toBeInstanceOf(ReferenceProblem);
    expect(problem).toMatchObject({ name: "ReferenceProblem", ...expected });
  });

  it("includes 20 keys in the message, and 50 keys and other details as data", () => {
    const keys = Array.from({ length: 60 }, (_, index) => `k${index}`);
    const tombstone = { name: "x" };
    const about = { nearest: "x", keys, length: 3, near: ["y"], tombstone };
    const { message, details } = problemFrom("$x.k", missing(about));
    expect(message).toContain(`${keys.slice(0, 20).join(", ")}.`);
    expect(details).toEqual({
      reference: "$x.k",
      nearest: "x",
      keys: keys.slice(0, 50),
      length: 3,
      near: ["y"],
      tombstone,
    });
  });

  it("says what is wrong with alternatives", async () => {
    const dagger: ResolveOptions = { syntaxes: ["dagger"] };
    const lookup = answering({ key: missing({ reason: "secret" }) });
    const mixed = "†temp || †city && †temp";
    expect(await problemOf(mixed, lookup, dagger)).toMatchObject({
      message: `${mixed} mixes || and &&; use one of them.`,
      details: { reference: mixed },
    });
    expect(await problemOf("†nope || †temp.x", lookup, dagger)).toMatchObject({
      message:
        "†nope || †temp.x: †nope is not a variable. †temp.x leads nowhere. temp is a number.",
    });
    // A variable that exists but must not be read does not lead to the next alternative.
    expect(await problemOf("†key || †temp", lookup, dagger)).toMatchObject({
      code: "variable_secret",
      details: { reference: "†key" },
    });
    const about = { reason: "unreadable", code: "bad_value", message: "Is bytes." } as const;
    const unreadable = answering({ key: missing(about) });
    const { code, message } = about;
    expect(await problemOf("†temp && †key", unreadable, dagger)).toMatchObject({ code, message });
    const evicted = answering({ gone: missing({ reason: "evicted" }) });
    expect(await resolveReferences("†gone || †temp", evicted, dagger)).toMatchObject({ value: 72 });
  });

  it("says that bytes must be passed alone", async () => {
    // Only stores return bytes, so the lookup here stands in for one.
    const bytes = new Uint8Array([1]) as unknown as Json;
    const lookup = answering({ image: { found: true, value: bytes } });
    expect((await resolveReferences("$image", lookup)).value).toBe(bytes);
    expect(await problemOf("<$image>", lookup)).toMatchObject({
      code: "bad_value",
      message:
        "$image is bytes and cannot stand inside of a text; pass it alone, as the whole string.",
      details: { reference: "$image" },
    });
  });
});

describe("interpolated text", () => {
  const lookup = answering({
    key: missing({ reason: "secret" }),
    gone: missing({ reason: "evicted", message: "Gone." }),
  });

  it("contains text for every reference, and keeps and lists missing ones", async () => {
    const text =
      "`{{temp}}` https://e.example/{{ city }} {{list}} {{nope}} {{gone}} {{temp.x}} $temp";
    const { text: filled, unresolved } = await interpolate(text, lookup);
    expect(filled).toBe('`72` https://e.example/New York ["a"] {{nope}} {{gone}} {{temp.x}} $temp');
    expect(unresolved).toEqual([
      { reference: "{{nope}}", code: "variable_not_found", message: "{{nope}} is not a variable." },
      { reference: "{{gone}}", code: "variable_evicted", message: "Gone." },
      {
        reference: "{{temp.x}}",
        code: "path_not_found",
        message: "{{temp.x}} leads nowhere. temp is a number.",
      },
    ]);
  });

  it("marks a secret, and prints escaped references as written", async () => {
    const text = "{{key}} {{key.part}} \\{{temp}} \\{{key}} \\{{nope}}";
    const { text: filled, unresolved } = await interpolate(text, lookup);
    expect(filled).toBe("[secret: key] [secret: key] {{temp}} \\{{key}} \\{{nope}}");
    expect(unresolved).toEqual([]);
  });
});
