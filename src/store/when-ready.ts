/** At once where that is possible; a promise where a bucket has to be asked. */
export type Awaitable<Result> = Result | Promise<Result>;

/** What `use` makes of the value: at once if there is nothing to wait for. */
export function whenReady<Value, Result>(
  value: Awaitable<Value>,
  use: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** The same of work that may fail, at once or later: `failed` is given also what `use` throws. */
export function whenSettled<Value, Result>(
  work: () => Awaitable<Value>,
  use: (value: Value) => Awaitable<Result>,
  failed: (error: unknown) => Awaitable<Result>,
): Awaitable<Result> {
  try {
    const result = whenReady(work(), use);
    return result instanceof Promise ? result.catch(failed) : result;
  } catch (error) {
    return failed(error);
  }
}
