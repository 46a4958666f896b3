/** A choice that cannot be carried out. The message says what to do. */
export class ChoiceError extends Error {
  override readonly name = "ChoiceError";
}
