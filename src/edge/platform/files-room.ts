import { requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";

interface NewFile {
  readonly key: string;
  readonly bytes: number;
  /** True for another file whose size counts. Receives its metadata. Default: all do. */
  readonly counts?: (other: R2Object) => boolean;
}

/** Throws `limit_exceeded` if a file does not fit beside the others in its folder. */
export async function requireRoom(
  bucket: R2Bucket,
  folder: string,
  { key, bytes, counts = () => true }: NewFile,
): Promise<void> {
  let [files, sum] = [1, bytes];
  let cursor: string | undefined;
  do {
    const page = await bucket.list({
      prefix: folder,
      include: ["customMetadata"],
      ...(cursor === undefined ? {} : { cursor }),
    });
    const others = page.objects.filter((object) => object.key !== key);
    files += others.length;
    for (const other of others) if (counts(other)) sum += other.size;
    requireAtMost(["maxListedFiles", limits.maxListedFiles], files, ADVICE);
    requireAtMost(["maxFilesBytes", limits.maxFilesBytes], sum, ADVICE);
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
}

const ADVICE = "Delete some of the conversation's files.";
