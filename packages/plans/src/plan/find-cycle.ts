/**
 * Finds a cycle among the calls. Returns the indices along it, with the first one repeated at the end, or
 * undefined. `dependsOn` lists the calls before each call. Cost: linear in calls and edges.
 */
export function findCycle(
  dependsOn: readonly ReadonlySet<number>[],
): readonly number[] | undefined {
  const state = new Uint8Array(dependsOn.length);
  const path: number[] = [];
  for (let start = 0; start < dependsOn.length; start++) {
    if (state[start] !== NEW) continue;
    // Each entry is a call and its unvisited dependencies. Iterative, because a plan can be deep.
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
        // Reversed into the order of the data flow: from a producer to its readers.
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
