import { defined } from '@parley/shared/defined'
import type { ResponsePart } from '../model-client.ts'
import { GrowingText } from './growing-text.ts'
import { MAX_REASONING_BYTES } from './reasoning.ts'

/** One more than can be given back. */
const MAX_THOUGHT_LENGTH = MAX_REASONING_BYTES + 1
/** Of all kinds. */
const MAX_PARTS = 1_000
/** In bytes, what one takes with nothing in it. */
const PART_BYTES = 1_280

const KINDS: Record<string, ResponsePart['kind']> = {
  reasoning: 'thought',
  text: 'text',
  'tool-call': 'call',
}

/** A piece of a stream of the SDK, as far as it is looked at. */
interface Piece {
  type: string
  id?: string
  delta?: string
  providerMetadata?: unknown
}

interface Part {
  kind: ResponsePart['kind']
  text?: GrowingText
  data?: ResponsePart['data']
  dataLength: number
}

/** The parts of a streamed answer, of which no more is gathered than may be given back to its provider. */
export class StreamedParts {
  readonly #parts = new Map<string, Part>()
  #dataLength = 0
  #thoughtLength = 0

  /** None where there are more than can be given back: providers refuse some of them alone. */
  get all(): ResponsePart[] {
    if (this.#isTooMuch) return []
    return [...this.#parts.values()].map(({ kind, text, data }) => ({
      kind,
      ...defined({ text: text?.toString(), data }),
    }))
  }

  /** In bytes, what they take of memory at most. */
  get allocated(): number {
    return PART_BYTES * this.#parts.size + 4 * this.#thoughtLength + 2 * this.#dataLength
  }

  get #isTooMuch(): boolean {
    return this.#dataLength > MAX_REASONING_BYTES || this.#parts.size > MAX_PARTS
  }

  take({ type, id = '', delta = '', providerMetadata }: Piece): void {
    const kind = KINDS[type.replace(/-(start|delta|end)$/, '')]
    if (kind === undefined || this.#isTooMuch) return
    const key = kind === 'call' ? `call ${this.#parts.size}` : `${kind} ${id}`
    const part = this.#parts.get(key) ?? { kind, dataLength: 0 }
    this.#parts.set(key, part)
    if (kind === 'thought') this.#addThought(part, delta)
    if (providerMetadata !== undefined) this.#addData(part, providerMetadata as ResponsePart['data'])
  }

  /** A thought is gathered until it is too long to be given back whole. */
  #addThought(part: Part, delta: string): void {
    part.text ??= new GrowingText(MAX_THOUGHT_LENGTH)
    const read = delta.slice(0, MAX_THOUGHT_LENGTH - this.#thoughtLength)
    part.text.append(read)
    this.#thoughtLength += read.length
  }

  #addData(part: Part, data: ResponsePart['data']): void {
    const all = { ...part.data, ...data }
    const length = JSON.stringify(all).length
    this.#dataLength += length - part.dataLength
    if (this.#isTooMuch) {
      this.#parts.clear()
      return
    }
    part.data = all
    part.dataLength = length
  }
}
