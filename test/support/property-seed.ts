import fc from "fast-check";

/** Fixes the seed, so that a failure reproduces everywhere. Set `SEED` to generate other values. */
fc.configureGlobal({ seed: Number(process.env.SEED ?? 20_261_126) });
