import { LookupWork, type Lookup } from "./lookup.ts";
import { type Reference, wholeReference } from "./reference.ts";
import { Scanner } from "./scanner.ts";
import { pickSyntaxes, type Syntaxes } from "./syntaxes.ts";

/** A reference in a text, with its source. */
export interface Mention extends Reference {
  readonly source: string;
}

/** How references in a text are found. */
export interface MentionOptions {
  /** Default: dollar only. */
  readonly syntaxes?: Syntaxes;
  /** False: references in Markdown code are text, as in answers. Default: true, as in tool inputs. */
  readonly inCode?: boolean;
}

/**
 * Returns the references in a text, in the written order, if the lookup knows their names: their paths may
 * not exist, and their values may be evicted or secret. Text with the form of a reference but an unknown name
 * and escaped references are not among them. Looks each name up once. Rejects if the lookup does.
 */
export async function referencesIn(
  text: string,
  lookup: Lookup,
  { syntaxes: names, inCode = true }: MentionOptions = {},
): Promise<readonly Mention[]> {
  const syntaxes = pickSyntaxes(names);
  const work = new LookupWork();
  const known = new Map<string, boolean>();
  const isKnown = async (reference: Reference) => {
    const before = known.get(reference.name);
    if (before !== undefined) return before;
    const answer = await lookup(reference, work);
    const isFound = answer.found || answer.reason !== "unknown";
    known.set(reference.name, isFound);
    return isFound;
  };
  const wholes = syntaxes.filter(({ wholeOnly }) => wholeOnly === true);
  const whole = wholeReference(text, wholes);
  if (whole !== undefined && (await isKnown(whole.reference))) {
    return [{ source: text, ...whole.reference }];
  }
  const mentions: Mention[] = [];
  const scanner = new Scanner({ syntaxes, inCode });
  scanner.feed(text);
  scanner.end();
  for (let piece = scanner.next(); piece !== undefined; piece = scanner.next()) {
    if (typeof piece === "string") continue;
    const { source, reference, escaped } = piece;
    if (await isKnown(reference)) {
      if (!escaped) mentions.push({ source, ...reference });
      scanner.accept();
    } else {
      // Its path may contain another one: $nobody['$name'].
      scanner.reject();
    }
  }
  return mentions;
}
