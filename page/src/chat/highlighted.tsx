/** Text with highlighted references. */
export function Highlighted({
  text,
  sources,
}: {
  readonly text: string;
  readonly sources: readonly string[];
}) {
  const longestFirst = [...new Set(sources)].toSorted((one, other) => other.length - one.length);
  const pattern = longestFirst.map(escaped).join("|");
  if (pattern === "") return text;
  // Every second piece is a match.
  return text.split(new RegExp(`(${pattern})`)).map((piece, index) =>
    index % 2 === 0 ? (
      piece
    ) : (
      <span key={index} className="tool-reference">
        {piece}
      </span>
    ),
  );
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
