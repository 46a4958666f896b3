import { codeOf } from "../errors.ts";

/** The end of the last write in each queue, by the subject of the writes. */
const queues = new WeakMap<object, Promise<unknown>>();

/** Maximum tries in the queue. Only writes that had begun before it, or do not use it, conflict there. */
const MAX_TRIES = 20;

/**
 * Runs the attempt, and after a `conflict` again, in a queue of the writes to the same subject: each runs
 * alone, so none of many simultaneous writes is refused. Writes that begin later wait for the queue. An
 * attempt must not make another such write to the subject, except in its first try.
 *
 * With `queuesAtOnce` the first try is in the queue, too: for writes that are expensive to try in vain.
 */
export async function retryConflicts<Result>(
  subject: object,
  attempt: () => Promise<Result>,
  { queuesAtOnce = false }: { readonly queuesAtOnce?: boolean } = {},
): Promise<Result> {
  if (!queuesAtOnce) {
    for (let last = queues.get(subject); last !== undefined; last = queues.get(subject)) await last;
    try {
      return await attempt();
    } catch (error) {
      if (codeOf(error) !== "conflict") throw error;
    }
  }
  return inQueue(subject, async () => {
    for (let tries = 1; ; tries++) {
      try {
        return await attempt();
      } catch (error) {
        if (codeOf(error) !== "conflict" || tries === MAX_TRIES) throw error;
      }
    }
  });
}

/** Runs the work after that which came before it, for the same subject. */
export async function inQueue<Result>(
  subject: object,
  work: () => Promise<Result>,
): Promise<Result> {
  const result = (queues.get(subject) ?? Promise.resolve()).then(work);
  const settled: Promise<unknown> = result
    .catch(() => undefined)
    .then(() => {
      if (queues.get(subject) === settled) queues.delete(subject);
    });
  queues.set(subject, settled);
  return result;
}
