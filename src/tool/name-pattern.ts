/**
 * Does the pattern, in which `*` stands for any characters, fit the whole name? Each part between two stars
 * is taken where it occurs first: no going back. Cost: linear in the name.
 */
export function fitsName(pattern: string, name: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first)) return false;
  let from = first.length;
  for (const part of others) {
    const at = name.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return name.length - last.length >= from && name.endsWith(last);
}
