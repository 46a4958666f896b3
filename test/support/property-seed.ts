import fc from "fast-check";

/** Every run makes the same values, so that a red test is red for everybody; another `SEED` makes others. */
fc.configureGlobal({ seed: Number(process.env.SEED ?? 20_261_126) });
