/**
 * A cycle among the calls, as the indices along it, the first one again at its end; undefined if there is
 * none. `dependsOn`: of each call, those that come before it. Cost: linear in calls and edges.
 */
export function findCycle(
  dependsOn: readonly ReadonlySet<number>[],
): readonly number[] | undefined {
  const state = new Uint8Array(dependsOn.length);
  const path: number[] = [];
  for (let start = 0; start < dependsOn.length; start++) {
    if (state[start] !== NEW) continue;
    // Each entry: a call, and what of its dependencies is still to be looked at. No recursion: a plan is deep.
    const open = [{ call: start, rest: [...(dependsOn[start] ?? [])] }];
    state[start] = OPEN;
    path.push(start);
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const next = top.rest.pop();
      if (next === undefined) {
        state[top.call] = DONE;
        open.pop();
        path.pop();
      } else if (state[next] === OPEN) {
        // Whoever reads it follows what is written: from a producer to its readers.
        return [...path.slice(path.indexOf(next)), next].reverse();
      } else if (state[next] === NEW) {
        state[next] = OPEN;
        path.push(next);
        open.push({ call: next, rest: [...(dependsOn[next] ?? [])] });
      }
    }
  }
  return undefined;
}

const NEW = 0;
const OPEN = 1;
const DONE = 2;
