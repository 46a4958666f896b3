/**
 * Returns names of which none is there twice: a later one gets a number that no other name has. `keyOf`: what must
 * differ. `reserved`: keys that no name may have. Cost: linear.
 */
export function distinctNames(
  names: readonly string[],
  keyOf: (name: string) => string = (name) => name,
  reserved: readonly string[] = [],
): readonly string[] {
  const taken = new Set([...reserved, ...names.map(keyOf)]);
  const seen = new Set(reserved);
  const numbers = new Map<string, number>();
  return names.map((name) => {
    const key = keyOf(name);
    if (!seen.has(key)) {
      seen.add(key);
      return name;
    }
    let number = numbers.get(key) ?? 2;
    while (taken.has(keyOf(`${name}_${number}`))) number++;
    numbers.set(key, number + 1);
    taken.add(keyOf(`${name}_${number}`));
    return `${name}_${number}`;
  });
}
