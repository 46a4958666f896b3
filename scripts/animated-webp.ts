/** A still WebP image, and how long an animation shows it. */
export interface Frame {
  readonly image: Buffer;
  readonly milliseconds: number;
}

interface Chunk {
  readonly name: string;
  readonly data: Buffer;
}

/** The flag of a `VP8X` chunk that announces frames. */
const HAS_ANIMATION = 0x02;
/** Replaces the whole previous frame, also where this one is transparent. */
const DO_NOT_BLEND = 0x02;
const IMAGE_CHUNKS: ReadonlySet<string> = new Set(["ALPH", "VP8 ", "VP8L"]);
/** The flag of a `VP8X` chunk that announces transparency. */
const HAS_ALPHA = 0x10;

/**
 * Puts lossy WebP images of one size into one animated WebP that repeats for ever. The pixels of the frames
 * are not encoded again. The format is https://developers.google.com/speed/webp/docs/riff_container.
 */
export function animatedWebp(frames: readonly Frame[]): Buffer {
  const [first] = frames;
  if (first === undefined) throw new Error("An animation needs a frame.");
  const size = sizeOf(first.image);
  const extended = Buffer.alloc(10);
  extended[0] = HAS_ANIMATION | (hasAlpha(first.image) ? HAS_ALPHA : 0);
  writeSize(extended, 4, size);
  return riff([
    { name: "VP8X", data: extended },
    { name: "ANIM", data: Buffer.alloc(6) },
    ...frames.map((frame) => frameChunk(frame, size)),
  ]);
}

/** The times of an animation's frames, in milliseconds. Empty for a still image. */
export function frameTimes(file: Buffer): readonly number[] {
  const frames = chunksOf(file.subarray(12)).filter(({ name }) => name === "ANMF");
  return frames.map(({ data }) => data.readUIntLE(12, 3));
}

function frameChunk({ image, milliseconds }: Frame, size: Size): Chunk {
  const own = sizeOf(image);
  if (own.width !== size.width || own.height !== size.height) {
    throw new Error(`A frame has ${own.width} x ${own.height} pixels, the first has others.`);
  }
  const head = Buffer.alloc(16);
  writeSize(head, 6, size);
  head.writeUIntLE(milliseconds, 12, 3);
  head[15] = DO_NOT_BLEND;
  const parts = imageChunks(image).map(chunkBytes);
  return { name: "ANMF", data: Buffer.concat([head, ...parts]) };
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Width and height are stored less one, in three bytes each. */
function writeSize(target: Buffer, at: number, { width, height }: Size): void {
  target.writeUIntLE(width - 1, at, 3);
  target.writeUIntLE(height - 1, at + 3, 3);
}

/** Reads the size from the header of a lossy image, which follows its frame tag and start code. */
function sizeOf(image: Buffer): Size {
  const lossy = imageChunks(image).find(({ name }) => name === "VP8 ");
  if (lossy === undefined) throw new Error("A frame is not a lossy WebP image.");
  const { data } = lossy;
  return { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff };
}

function hasAlpha(image: Buffer): boolean {
  return imageChunks(image).some(({ name }) => name === "ALPH");
}

function imageChunks(image: Buffer): readonly Chunk[] {
  return chunksOf(image.subarray(12)).filter(({ name }) => IMAGE_CHUNKS.has(name));
}

function chunksOf(bytes: Buffer): readonly Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = 0; at + 8 <= bytes.length;) {
    const length = bytes.readUInt32LE(at + 4);
    const data = bytes.subarray(at + 8, at + 8 + length);
    chunks.push({ name: bytes.toString("latin1", at, at + 4), data });
    at += 8 + length + (length % 2);
  }
  return chunks;
}

function riff(chunks: readonly Chunk[]): Buffer {
  const body = Buffer.concat([Buffer.from("WEBP"), ...chunks.map(chunkBytes)]);
  return chunkBytes({ name: "RIFF", data: body });
}

/** A chunk of odd length is followed by a zero, which its length does not count. */
function chunkBytes({ name, data }: Chunk): Buffer {
  const head = Buffer.alloc(8);
  head.write(name, "latin1");
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}
