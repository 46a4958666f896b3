import { expect, it } from "vitest";
import { Random } from "../chaos/random.ts";
import { objectNameOf } from "../support/object-name.ts";

const PAIRS = 1_000_000;
const pieces = [
  ...'" , "," [" "] / : | \\ \\u0000 [ ] - . a а ａ é e\u0301 K \u212A ß ss I ı l 😀 local import b _ 0'.split(
    " ",
  ),
  "\0",
  "\n",
  " ",
  "\u200B",
  "\uFEFF",
  "\ud800",
  "\udc00",
  "\ufffd",
];
const idPieces = ["a", "A", "b", "z", "0", "1", ".", "_", "-", "import", "local", "ss", "l", "I"];

/** The name as the platform receives it: half of a surrogate pair would become another character. */
const asBytes = (name: string) => new TextDecoder().decode(new TextEncoder().encode(name));

it("a million pairs of tenant and conversation have a million names", () => {
  const random = new Random(1);
  const text = (from: readonly string[], most: number) => {
    let made = "";
    for (let left = random.between(1, most); left > 0; left--) made += random.one(from);
    return made;
  };
  const pairs = new Set<string>();
  const names = new Set<string>();
  while (pairs.size < PAIRS) {
    const tenant = text(pieces, 4);
    const id = text(idPieces, 4);
    if (id === "." || id === "..") continue;
    // The length shows where the tenant ends and the id begins.
    pairs.add(`${tenant.length} ${tenant}${id}`);
    names.add(asBytes(objectNameOf(tenant, id)));
  }
  expect(names.size).toBe(PAIRS);
});
