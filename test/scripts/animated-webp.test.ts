import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { animatedWebp, frameTimes } from "../../scripts/animated-webp.ts";

const images = join(import.meta.dirname, "../../docs/images");
const image = (name: string) => readFileSync(join(images, `${name}.webp`));

it("makes an animation from still images and their durations", () => {
  const frames = [
    { image: image("plan"), milliseconds: 400 },
    { image: image("plan"), milliseconds: 2_000 },
  ];
  const animation = animatedWebp(frames);
  expect(frameTimes(animation)).toEqual([400, 2_000]);
  expect(animation.toString("latin1", 0, 4)).toBe("RIFF");
  expect(animation.readUInt32LE(4)).toBe(animation.length - 8);
  // A frame has the pixels of the still image.
  const pixels = (file: Buffer) => file.subarray(file.indexOf("VP8 "));
  expect(animation.includes(pixels(image("plan")))).toBe(true);
});

it("refuses images of different sizes, or no images", () => {
  const sizes = ["plan", "phone"].map((name) => ({ image: image(name), milliseconds: 1 }));
  expect(() => animatedWebp(sizes)).toThrow("pixels");
  expect(() => animatedWebp([])).toThrow("needs a frame");
});
