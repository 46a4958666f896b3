/** Writes the chunks one after another and returns the transform's whole output. */
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

/**
 * Ways to cut a text: not at all, into characters, at every position into two pieces, and for short texts
 * into three.
 */
export function* cutsOf(text: string): Generator<readonly string[]> {
  yield [text];
  yield text.split("");
  // These are enough for mutation tests, which run once per mutant.
  if (process.env["MUTATION_RESULTS"] !== undefined) return;
  for (let first = 1; first < text.length; first++) {
    yield [text.slice(0, first), text.slice(first)];
    if (text.length >= 60) continue;
    for (let second = first + 1; second < text.length; second++) {
      yield [text.slice(0, first), text.slice(first, second), text.slice(second)];
    }
  }
}
