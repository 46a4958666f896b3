/** At once where that is possible; a promise where a bucket has to be asked. */
export type Awaitable<Result> = Result | Promise<Result>;

/** What `use` makes of the value: at once if there is nothing to wait for. */
export function whenReady<Value, Result>(
  value: Awaitable<Value>,
  use: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return value instanceof Promise ? value.then(use) : use(value);
}
