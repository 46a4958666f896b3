import type { RunningDigest } from "../../tool/transfer/transfer-lines.ts";
import { toHex } from "../../value/hex.ts";

/** SHA-256 of bytes that arrive in pieces. */
export class Sha256Stream implements RunningDigest {
  readonly #stream = new crypto.DigestStream("SHA-256");
  readonly #writer = this.#stream.getWriter();

  add(bytes: Uint8Array): Promise<void> {
    return this.#writer.write(bytes);
  }

  async end(): Promise<string> {
    await this.#writer.close();
    return toHex(new Uint8Array(await this.#stream.digest));
  }
}
