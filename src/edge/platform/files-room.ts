import { ByrefError, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";

interface NewFile {
  readonly key: string;
  readonly bytes: number;
}

/** Throws `limit_exceeded` if a file does not fit beside the others in its folder. */
export async function requireRoom(
  bucket: R2Bucket,
  folder: string,
  { key, bytes }: NewFile,
): Promise<void> {
  let [files, sum] = [1, bytes];
  let cursor: string | undefined;
  do {
    const page = await bucket.list({
      prefix: folder,
      ...(cursor === undefined ? {} : { cursor }),
    });
    const others = page.objects.filter((object) => object.key !== key);
    files += others.length;
    for (const other of others) sum += other.size;
    requireAtMost(["maxFiles", limits.maxFiles], files, ADVICE);
    // Without the sum: the sizes of sealed files are in it.
    if (sum > limits.maxFilesBytes) {
      const maximum = limits.maxFilesBytes;
      throw new ByrefError("limit_exceeded", `maxFilesBytes is exceeded. ${ADVICE}`, {
        limit: "maxFilesBytes",
        maximum,
      });
    }
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
}

const ADVICE = "Delete some of the conversation's files.";
