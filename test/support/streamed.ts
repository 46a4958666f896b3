/** All that comes out of a transform when the chunks are written one after the other. */
export async function streamed(
  transform: TransformStream<string, string>,
  chunks: readonly string[],
): Promise<string> {
  const writer = transform.writable.getWriter();
  const writing = (async () => {
    for (const chunk of chunks) await writer.write(chunk);
    await writer.close();
  })();
  let text = "";
  for await (const chunk of transform.readable) text += chunk;
  await writing;
  return text;
}

/** Ways of cutting a text: whole, by character, in every two, and in every three pieces if it is short. */
export function* cutsOf(text: string): Generator<readonly string[]> {
  yield [text];
  yield text.split("");
  // Where the tests are run for each mutant, that is enough.
  if (process.env["MUTATION_RESULTS"] !== undefined) return;
  for (let first = 1; first < text.length; first++) {
    yield [text.slice(0, first), text.slice(first)];
    if (text.length >= 60) continue;
    for (let second = first + 1; second < text.length; second++) {
      yield [text.slice(0, first), text.slice(first, second), text.slice(second)];
    }
  }
}
