import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { Expander, type ExpandOptions, type Unresolved } from "../../src/reference/expand.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Lookup } from "../../src/reference/lookup.ts";
import { expanded } from "../support/streamed.ts";
import { slow } from "../support/slow.ts";

const variables = { temp: 72, temperature: 20.5, weather: { city: "New York" }, ids: ["u1", "u2"] };
const names = Object.keys(variables);
const couldBegin = (prefix: string) => names.some((name) => name.startsWith(prefix));

/** Creates an expander that collects its output. */
function start(options: ExpandOptions = {}, lookup: Lookup = lookupIn(variables)) {
  let out = "";
  const emit = (text: string) => void (out += text);
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
const expand = (text: string, options: ExpandOptions = {}, lookup: Lookup = lookupIn(variables)) =>
  expanded(lookup, text, options).text;

it.each([
  ..."$5|$.|$ |$(|$$|US$t|${{|${ |$x|$HOME|$temz|$ida|\\n".split("|"),
  "It is nice.\n\\a}} ]( <a `x`",
])("text that cannot become a reference is emitted at its last character: %j", (text) => {
  const answer = start({ couldBegin });
  for (const character of text) void answer.write(character);
  expect([answer.out, answer.held]).toEqual([text, 0]);
});

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
])("held text of %j is %i characters", (text, held) => {
  const answer = start({ couldBegin });
  void answer.write(text);
  expect(answer.held).toBe(held);
  expect(answer.out + text.slice(-held)).toBe(text.replace("x $temp", "x 72"));
});

it.each([
  ["is $temp", "is 72"],
  ["is $weather.", 'is {"city":"New York"}.'],
  ["is ${temp", "is ${temp"],
  ["is $", "is $"],
  ["is \\$temp", "is $temp"],
])("a flush decides held text like the end of the answer: %s", (text, expected) => {
  const answer = start();
  void answer.write(text);
  expect(answer.out).not.toBe(expected);
  void answer.flush();
  expect(answer.out).toBe(expected);
});

it.each(["`", "```\n", "https://e.example/?q=", "[t](", "<a ", "word", "$"])(
  "a flush in the middle of text remembers code, URLs and words: %j",
  (opening) => {
    const answer = start();
    for (const text of [opening, "$temp"]) {
      void answer.write(text);
      void answer.flush();
    }
    expect(answer.out).toBe(`${opening}$temp`);
  },
);

describe("an unprintable value", () => {
  const message = "Evicted a day ago; get_weather made it.";
  const lookup: Lookup = (reference) => {
    if (reference.name === "key") return { found: false, reason: "secret" };
    if (reference.name === "gone") return { found: false, reason: "evicted", message };
    return lookupIn(variables)(reference);
  };

  /** Returns the expanded text, and the references that are reported. */
  const reporting = (text: string, options: ExpandOptions = {}) => {
    const { text: shown, unresolved: reported } = expanded(lookup, text, options);
    return { shown, reported };
  };

  it("is shown as secret, whatever part is requested", () => {
    const secret = "[secret: key]";
    const text = "$key and ${key.part}, $key[0]\n\n$key\n \\$key";
    const expected = `${secret} and ${secret}, ${secret}\n\n${secret}\n $key`;
    expect(reporting(text)).toEqual({ shown: expected, reported: [] });
  });

  it("stays as written if it is evicted or missing, and is reported, except in code", () => {
    const text = "$gone $weather.citi ${ids[9]} \\$gone \\$weather.x $HOME `$gone` $temp";
    expect(reporting(text)).toEqual({
      shown: text.replace("$temp", "72"),
      reported: [
        { reference: "$gone", code: "variable_evicted", message },
        { reference: "$weather.citi", code: "path_not_found", near: ["city"] },
        { reference: "${ids[9]}", code: "path_not_found" },
      ],
    });
  });

  it("is reported with its reason in a URL or tag, unless its name is unknown", () => {
    const text = "https://e.example/$temp?$HOME\\$temp <b ${weather.x} > ${temp}@e.example";
    for (const options of [{}, { isKnown: (name: string) => name !== "HOME" }]) {
      const why = { code: "reference_in_url", reason: "url" };
      const references = ["$temp", "${weather.x}", "${temp}"];
      const reported = references.map((reference) => ({ reference, ...why }));
      expect(reporting(text, options)).toMatchObject({ shown: text, reported });
    }
  });

  it("is not looked up in a URL or tag if no reason is requested", () => {
    let lookups = 0;
    const counting: Lookup = (reference) => {
      lookups++;
      return lookup(reference);
    };
    void start({}, counting).write("<b $temp https://e.example/$temp ");
    expand("<b $temp", { isKnown: () => true, onUnresolved: () => {} }, counting);
    expect(lookups).toBe(0);
    expand("<b $temp", { onUnresolved: () => {} }, counting);
    expect(lookups).toBe(1);
  });
});

const most = limits.maxInsertedChars;

it.each([
  ["at their limit", "$big $two.", most - 2, "yz", []],
  ["above it", "$big $two.", most - 1, "$two", ["limit_exceeded"]],
  ["alone above it", "$big", most + 1, "$big", ["limit_exceeded"]],
])("the values of an answer count together: %s", slow, (...[, text, chars, end, expected]) => {
  const value = "x".repeat(chars);
  const codes: string[] = [];
  const onUnresolved = ({ code }: Unresolved) => void codes.push(code);
  const lookup: Lookup = ({ name }) => ({ found: true, value: name === "big" ? value : "yz" });
  const expanded = expand(text, { onUnresolved }, lookup);
  expect(expanded.replace(/^x+ /u, "").replace(/\.$/u, "")).toBe(end);
  expect(codes).toEqual(expected);
});

it.each([String.raw`<\${temp}\: b`, String.raw`<\$temp:x>`, String.raw`a <\{{temp}}+b`])(
  "values that are escaped in an autolink are the same wherever the text is cut: %s",
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
