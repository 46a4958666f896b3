import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { Expander, type ExpandOptions, type Unresolved } from "../../src/reference/expand.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Found, Lookup, Missing } from "../../src/reference/lookup.ts";
import type { Reference } from "../../src/reference/reference.ts";
import { slow } from "../support/slow.ts";

const variables = { temp: 72, temperature: 20.5, weather: { city: "New York" }, ids: ["u1", "u2"] };
const names = Object.keys(variables);
const couldBegin = (prefix: string) => names.some((name) => name.startsWith(prefix));

/** Creates an expander that collects its output. */
function start(options: ExpandOptions = {}, lookup: Lookup = lookupIn(variables)) {
  let out = "";
  const emit = (text: string) => {
    out += text;
  };
  const expander = new Expander(lookup, options);
  return {
    write: (chunk: string) => expander.write(chunk, emit),
    flush: () => expander.flush(emit),
    get out() {
      return out;
    },
    get held() {
      return expander.heldChars;
    },
  };
}

/** Expands a text in one chunk. */
function expand(text: string, options: ExpandOptions = {}, lookup?: Lookup): string {
  const answer = start(options, lookup);
  void answer.write(text);
  void answer.flush();
  return answer.out;
}

describe("text that cannot become a reference", () => {
  it("is emitted with its own chunk", () => {
    const answer = start({ couldBegin });
    for (const chunk of ["It", " is ", "nice", ".\n", "\\a", "}} ]( <a ", "`x`"]) {
      const before = answer.out;
      void answer.write(chunk);
      expect(answer.out).toBe(before + chunk);
    }
  });

  it.each([
    "$5",
    "$.",
    "$ ",
    "$(",
    "$$",
    "US$t",
    "${{",
    "${ ",
    "$x",
    "$HOME",
    "$temz",
    "$ida",
    "\\n",
  ])("%j is emitted at its last character", (text) => {
    const answer = start({ couldBegin });
    for (const character of text) void answer.write(character);
    expect(answer.out).toBe(text);
    expect(answer.held).toBe(0);
  });
});

describe("held text", () => {
  it.each([
    ["$", 1],
    ["a $te", 3],
    ["$temp", 5],
    ["$weather.", 9],
    ["$weather.ci", 11],
    ["$ids[", 5],
    ["$ids[0]", 7],
    ["${temp", 6],
    ["$weather['ci", 12],
    ["\\", 1],
    ["\\$te", 4],
    ["x $temp\n  $ids", 4],
  ])("of %j is %i characters", (text, held) => {
    const answer = start({ couldBegin });
    void answer.write(text);
    expect(answer.held).toBe(held);
    expect(answer.out + text.slice(-held)).toBe(text.replace("x $temp", "x 72"));
  });
});

describe("a flush", () => {
  it("decides held text like the end of the answer", () => {
    for (const [text, expected] of [
      ["is $temp", "is 72"],
      ["is $weather.", 'is {"city":"New York"}.'],
      ["is ${temp", "is ${temp"],
      ["is $", "is $"],
      ["is \\$temp", "is $temp"],
    ] as const) {
      const answer = start();
      void answer.write(text);
      expect(answer.out).not.toBe(expected);
      void answer.flush();
      expect(answer.out).toBe(expected);
    }
  });

  it("in the middle of text remembers code, URLs and words", () => {
    for (const opening of ["`", "```\n", "https://e.example/?q=", "[t](", "<a ", "word", "$"]) {
      const answer = start();
      void answer.write(opening);
      void answer.flush();
      void answer.write("$temp");
      void answer.flush();
      expect(answer.out).toBe(`${opening}$temp`);
    }
  });
});

describe("asynchronous lookups", () => {
  it("insert their values in the order of the references", async () => {
    const asked: string[] = [];
    const answers = new Map<string, (found: Found | Missing) => void>();
    const lookup = ({ name }: Reference) =>
      new Promise<Found | Missing>((resolve) => {
        asked.push(name);
        answers.set(name, resolve);
      });
    const answer = start({}, lookup);
    const writing = answer.write("1 $a 2 $b 3 $c 4");
    expect(answer.out).toBe("1 ");
    for (const name of ["a", "b", "c"]) {
      // One at a time: a value may open a URL or tag, in which the next reference is not looked up.
      await expect.poll(() => asked.at(-1)).toBe(name);
      answers.get(name)?.({ found: true, value: `[${name}]` });
    }
    await writing;
    expect(answer.out).toBe("1 [a] 2 [b] 3 [c] 4");
  });

  it("end the text with their error when they fail", async () => {
    const answer = start({}, () => Promise.reject(new Error("storage is away")));
    await expect(answer.write("a $b c")).rejects.toThrow("storage is away");
  });
});

describe("an unprintable value", () => {
  const message = "Evicted a day ago; get_weather made it.";
  const lookup: Lookup = (reference) => {
    if (reference.name === "key") return { found: false, reason: "secret" };
    if (reference.name === "gone") return { found: false, reason: "evicted", message };
    return lookupIn(variables)(reference);
  };

  it("is shown as secret, whatever part is requested", () => {
    const text = "$key and ${key.part}, $key[0]\n\n$key\n";
    const secret = "[secret: key]";
    const expected = `${secret} and ${secret}, ${secret}\n\n${secret}\n`;
    expect(expand(text, {}, lookup)).toBe(expected);
    expect(expand("\\$key", {}, lookup)).toBe("$key");
  });

  it("stays as written if it is evicted or missing, and is reported", () => {
    const reported: Unresolved[] = [];
    const onUnresolved = (unresolved: Unresolved) => void reported.push(unresolved);
    const text = "$gone $weather.citi ${ids[9]} \\$gone \\$weather.x $HOME $temp";
    expect(expand(text, { onUnresolved }, lookup)).toBe(text.replace("$temp", "72"));
    expect(reported).toEqual([
      { reference: "$gone", code: "variable_evicted", message },
      { reference: "$weather.citi", code: "path_not_found", near: ["city"] },
      { reference: "${ids[9]}", code: "path_not_found" },
    ]);
  });

  it("is not reported in code", () => {
    const reported: string[] = [];
    const onUnresolved = ({ reference }: Unresolved) => void reported.push(reference);
    expand("`$gone` $gone.y", { onUnresolved }, lookup);
    expect(reported).toEqual(["$gone.y"]);
  });

  it("is reported with its reason in a URL or tag, unless its name is unknown", () => {
    const reported: Unresolved[] = [];
    const onUnresolved = (unresolved: Unresolved) => void reported.push(unresolved);
    const text = "https://e.example/$temp?$HOME\\$temp <b ${weather.x} > ${temp}@e.example";
    for (const isKnown of [undefined, (name: string) => name !== "HOME"]) {
      reported.length = 0;
      const options = isKnown === undefined ? {} : { isKnown };
      expect(expand(text, { onUnresolved, ...options }, lookup)).toBe(text);
      expect(reported.map(({ reference }) => reference)).toEqual([
        "$temp",
        "${weather.x}",
        "${temp}",
      ]);
      for (const { code, reason } of reported) {
        expect([code, reason]).toEqual(["reference_in_url", "url"]);
      }
    }
  });

  it("is not looked up in a URL or tag if no reason is requested", () => {
    let lookups = 0;
    const counting: Lookup = (reference) => {
      lookups++;
      return lookup(reference);
    };
    const isKnown = () => true;
    expand("<b $temp https://e.example/$temp", {}, counting);
    expand("<b $temp", { isKnown, onUnresolved: () => {} }, counting);
    expect(lookups).toBe(0);
    expand("<b $temp", { onUnresolved: () => {} }, counting);
    expect(lookups).toBe(1);
  });
});

describe("the values of an answer", () => {
  const most = limits.maxInsertedChars;

  it.each([
    ["at their limit", "$big $two.", most - 2, "yz", []],
    ["above it", "$big $two.", most - 1, "$two", ["limit_exceeded"]],
    ["alone above it", "$big", most + 1, "$big", ["limit_exceeded"]],
  ])("count together: %s", slow, (_where, text, chars, end, expected) => {
    const value = "x".repeat(chars);
    const codes: string[] = [];
    const onUnresolved = ({ code }: Unresolved) => void codes.push(code);
    const lookup: Lookup = ({ name }) => ({ found: true, value: name === "big" ? value : "yz" });
    const expanded = expand(text, { onUnresolved }, lookup);
    expect(expanded.replace(/^x+ /u, "").replace(/\.$/u, "")).toBe(end);
    expect(codes).toEqual(expected);
  });
});

describe("values", () => {
  it("are reported with the text that replaces them", () => {
    const resolved: string[] = [];
    const onResolved = (source: string, text: string) => void resolved.push(source, text);
    expand("${temp} $ids[0] \\$temp $HOME", { onResolved });
    expect(resolved).toEqual(["${temp}", "72", "$ids[0]", "u1"]);
  });

  it.each([String.raw`<\${temp}\: b`, String.raw`<\$temp:x>`, String.raw`a <\{{temp}}+b`])(
    "that are escaped in an autolink are the same wherever the text is cut: %s",
    (text) => {
      const options: ExpandOptions = { syntaxes: ["dollar", "mustache"] };
      const whole = expand(text, options);
      for (let at = 1; at < text.length; at++) {
        const answer = start(options);
        void answer.write(text.slice(0, at));
        void answer.write(text.slice(at));
        void answer.flush();
        expect(answer.out).toBe(whole);
      }
    },
  );
});
