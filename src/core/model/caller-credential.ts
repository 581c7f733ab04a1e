/** A caller's credential for upstreams. It cannot be printed, logged or serialized by accident. */
export class CallerCredential {
  readonly #bearer: string

  constructor(bearer: string) {
    this.#bearer = bearer
  }

  /** The secret, to send to an upstream or to encrypt. */
  reveal(): string {
    return this.#bearer
  }

  toJSON(): string {
    return HIDDEN
  }

  toString(): string {
    return HIDDEN
  }

  /** Removes the secret from a value: an upstream may repeat what it was sent. */
  removeFrom<Value>(value: Value): Value {
    const text = JSON.stringify(value) as string | undefined
    const secret = JSON.stringify(this.#bearer).slice(1, -1)
    return text?.includes(secret) === true ? (JSON.parse(text.replaceAll(secret, HIDDEN)) as Value) : value
  }
}

const HIDDEN = '[credential]'
