/** An action's spec can't be worked with; the message says why. */
export class SpecError extends Error {}

/** Arguments don't fit the operation; `path` is a JSON Pointer into them. */
export class ArgsError extends Error {
  readonly path: string

  constructor(path: string, reason: string) {
    super(reason)
    this.path = path
  }
}
