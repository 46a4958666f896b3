/** Lets other work of the process go on, such as requests of others, between the parts of a long computation. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}
