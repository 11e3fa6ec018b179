import { responseBytes } from '@parley/shared/memory'
import { CallError } from './call-error.ts'

/** The memory that one foreign response takes while it arrives. */
interface ResponseShare {
  /** All that it has now, in bytes. */
  use(bytes: number): void
  close(): void
}

/**
 * The memory for foreign responses that are under way: each has a bound of its own, but thousands that stop in the middle
 * would fill the process. When all together have more than `maxBytes`, the largest of them is ended with `no_answer`,
 * whosever it is: what workspaces may have would be divided by whoever registers many of them.
 */
export class ResponseMemory {
  readonly #maxBytes: number
  readonly #shares = new Set<Share>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** `end` is called, once at most, when this response is the one that has to make room. */
  share(end: (error: CallError) => void): ResponseShare {
    const share = new Share(end)
    return {
      use: (bytes) => this.#use(share, bytes),
      close: () => {
        share.isClosed = true
        this.#release(share)
      },
    }
  }

  #use(share: Share, bytes: number): void {
    if (share.isClosed) return
    this.#bytes += bytes - share.bytes
    share.bytes = bytes
    if (bytes > 0) this.#shares.add(share)
    while (this.#bytes > this.#maxBytes) this.#endLargest()
  }

  #endLargest(): void {
    let largest: Share | undefined
    for (const share of this.#shares)
      if (largest === undefined || share.bytes > largest.bytes) largest = share
    if (largest === undefined) return
    largest.isClosed = true
    this.#release(largest)
    largest.end(new CallError('no_answer', new Error('other responses need its memory')))
  }

  #release(share: Share): void {
    this.#bytes -= share.bytes
    share.bytes = 0
    this.#shares.delete(share)
  }
}

class Share {
  bytes = 0
  isClosed = false
  readonly end: (error: CallError) => void

  constructor(end: (error: CallError) => void) {
    this.end = end
  }
}

/** That of this process. */
export const responseMemory = new ResponseMemory(responseBytes())
