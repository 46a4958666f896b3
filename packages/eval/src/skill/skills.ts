/** Error rates of a scripted model. It does everything else right. */
export interface Skill {
  readonly name: string;
  /** Wrong characters in 1,000 that it copies from its prompt. */
  readonly copyErrorsPer1000: number;
  /** Share of the references that it misspells. */
  readonly misspells: number;
  /** Share of the conversations in which it copies values although it could pass them by reference. */
  readonly ignoresGuide: number;
}

/** The scripted models of `--model scripted:NAME`. */
export const exact: Skill = {
  name: "exact",
  copyErrorsPer1000: 0,
  misspells: 0,
  ignoresGuide: 0,
};
const sloppy: Skill = {
  name: "sloppy",
  copyErrorsPer1000: 0.2,
  misspells: 0.05,
  ignoresGuide: 0.1,
};

export function skillNamed(name: string): Skill {
  const skill = [exact, sloppy].find((one) => one.name === name);
  if (skill !== undefined) return skill;
  throw new Error(`There is no scripted model ${name}; there are exact, sloppy.`);
}
