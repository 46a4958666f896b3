/** Undefined removes the field. */
const REPLACEMENTS: readonly unknown[] = [
  undefined,
  null,
  true,
  -1,
  1.5,
  1e308,
  "",
  "x",
  "x".repeat(300),
  "\ud800",
  [],
  [null],
  [1],
  {},
  { a: {} },
];

interface Mutation {
  /** Equal for fields that differ only in their place in a list. */
  readonly name: string;
  readonly made: unknown;
}

/** Yields copies of the value in which one field, at any depth, is removed or something else. */
export function* mutationsOf(value: unknown, at = ""): Generator<Mutation> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const place = `${at}.${Array.isArray(value) ? "0" : key}`;
    for (const replacement of REPLACEMENTS) {
      const name = `${place} = ${JSON.stringify(replacement)?.slice(0, 20)}`;
      yield { name, made: withField(value, key, replacement) };
    }
    for (const { name, made } of mutationsOf(inner, place)) {
      yield { name, made: withField(value, key, made) };
    }
  }
}

function withField(value: object, key: string, replacement: unknown): unknown {
  if (Array.isArray(value)) return value.with(Number(key), replacement ?? null);
  // Without it, JSON has no field.
  return { ...value, [key]: replacement };
}
