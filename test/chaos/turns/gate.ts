/** Gives clients the server's URL. They wait while the server is down or the gate is closed. */
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
