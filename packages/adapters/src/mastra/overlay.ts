/**
 * Returns the object with some of its properties replaced by the results of functions. It may have private fields,
 * so its own methods are called on itself.
 */
export function overlay<Target extends object>(
  target: Target,
  replaced: { readonly [Key in keyof Target]?: () => unknown },
): Target {
  return new Proxy(target, {
    get(original, key) {
      if (Object.hasOwn(replaced, key)) return replaced[key as keyof Target]?.();
      const value: unknown = Reflect.get(original, key, original);
      return typeof value === "function" ? value.bind(original) : value;
    },
  });
}
