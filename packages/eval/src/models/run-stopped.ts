/** Ends a run: the model cannot be reached, or the budget is spent. Finished cells are kept. */
export class RunStopped extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RunStopped";
  }
}
