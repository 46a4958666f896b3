/** Where clients ask for the server; they wait while it is down, or while they must not ask. */
export class Gate {
  #opened = Promise.withResolvers<string>();
  #isOpen = false;

  get isOpen(): boolean {
    return this.#isOpen;
  }

  url(): Promise<string> {
    return this.#opened.promise;
  }

  open(url: string): void {
    this.#isOpen = true;
    this.#opened.resolve(url);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#opened = Promise.withResolvers();
  }
}
