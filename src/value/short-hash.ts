/** FNV-1a, 32 bits, in base 36. Distinguishes texts that nobody chooses to be alike. */
export function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return (hash >>> 0).toString(36);
}
