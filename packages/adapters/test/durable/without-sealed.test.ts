import { expect, it } from "vitest";
import { withoutSealed } from "../../src/durable/without-sealed.ts";

const note = {
  source: "$note",
  text: "Ada Lovelace, born in 1815 in London",
  before: "",
  after: "",
};

it.for<[string, string]>([
  ["See Ada Lovelace, born in 1815 in London!", "See $note!"],
  ["It begins with Ada Love and so on", "It begins with $note and so on"],
  ["She lived in n London.", "She lived in $note."],
  ["born in 1815", "$note"],
  // A known gap, which the guide documents.
  ["She was born in 1815, they say", "She was born in 1815, they say"],
])(
  "recognizes a whole sealed value, its beginning or end, and a part on its own: %s",
  ([text, without]) => {
    expect(withoutSealed(text, note)).toBe(without);
  },
);
