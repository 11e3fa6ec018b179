import { constructFromEvents, EVENT_ID, parseEvents, type Schema } from 'js-yaml'
import { isExactNumber } from './exact-number.ts'

/** Longer texts are not read. */
export const MAX_DOCUMENT_CHARACTERS = 4 * 1024 * 1024
/** Objects, arrays and scalars: each as often as it stands in what the aliases expand to. */
const MAX_NODES = 250_000
/** Of the JSON that the document expands to, in characters. */
const MAX_TEXT = 4 * 1024 * 1024
/** How deep objects and arrays nest, through aliases as well. */
const MAX_DEPTH = 100
const MAX_SHOWN = 200

/** The size of a value as JSON; `text` is the length of that in characters. */
interface DocumentSize {
  nodes: number
  text: number
}

/** A document that is not worked with; the message says why, and is the same for the same kind of document. */
export class ForeignDocumentError extends Error {
  /** The parser's message, where that is the reason; at most 200 characters. */
  readonly syntax: string | undefined

  constructor(reason: string, options: { syntax?: string } = {}) {
    super(reason)
    this.syntax = options.syntax
  }
}

/**
 * Reads one YAML or JSON document of somebody else's. The parser keeps what an alias stands for by reference, so the
 * size of what it all expands to is known before anything of it is copied, compared or serialised. `schema` is the parser's own when not given. Throws
 * {@link ForeignDocumentError} for what is no document, is longer than 4 Mi characters, or expands to more than
 * 250,000 nodes, 4 MiB of JSON or 100 levels.
 */
export function readForeignDocument(text: string, schema?: Schema): unknown {
  if (text.length > MAX_DOCUMENT_CHARACTERS)
    throw new ForeignDocumentError(`is longer than ${MAX_DOCUMENT_CHARACTERS} characters`)
  const document = parse(text, schema)
  sizeOf(document)
  return document
}

function parse(source: string, schema: Schema | undefined): unknown {
  try {
    const events = parseEvents(source, { maxDepth: MAX_DEPTH })
    const documents = events.filter(({ type }) => type === EVENT_ID.DOCUMENT).length
    if (documents === 1) return constructFromEvents(events, { source, ...(schema && { schema }) })[0]
    const syntax = documents === 0 ? 'the document is empty' : 'there is more than one document'
    throw new ForeignDocumentError('is no YAML', { syntax })
  } catch (error) {
    if (error instanceof ForeignDocumentError) throw error
    // The parser quotes names from the text, however long they are.
    const [line = ''] = error instanceof Error ? error.message.split('\n', 1) : []
    throw new ForeignDocumentError('is no YAML', { syntax: line.slice(0, MAX_SHOWN) })
  }
}

interface Measured extends DocumentSize {
  depth: number
}

/**
 * The size of the JSON that a value makes, in time linear in what the value has in memory: what stands in it more than
 * once is measured once. Throws {@link ForeignDocumentError} as soon as it is over `bounds`, nests deeper than 100
 * levels, or contains itself.
 */
export function sizeOf(
  value: unknown,
  bounds: DocumentSize = { nodes: MAX_NODES, text: MAX_TEXT },
): DocumentSize {
  const known = new Map<object, Measured | undefined>()
  const bounded = (size: Measured): Measured => {
    if (size.nodes > bounds.nodes)
      throw new ForeignDocumentError(`expands to more than ${bounds.nodes} nodes`)
    if (size.text > bounds.text)
      throw new ForeignDocumentError(`expands to more than ${bounds.text} characters of JSON`)
    return size
  }
  const measure = (given: unknown, above: number): Measured => {
    if (isExactNumber(given)) return bounded({ nodes: 1, text: given.rawJSON.length, depth: 0 })
    if (typeof given !== 'object' || given === null)
      return bounded({ nodes: 1, text: scalarText(given, bounds.text), depth: 0 })
    const found = known.get(given)
    if (found === undefined && known.has(given)) throw new ForeignDocumentError('contains itself')
    if (above + (found?.depth ?? 1) > MAX_DEPTH)
      throw new ForeignDocumentError(`is nested deeper than ${MAX_DEPTH} levels`)
    if (found !== undefined) return found
    known.set(given, undefined)
    const size = measureMembers(given, above + 1)
    known.set(given, size)
    return size
  }
  const measureMembers = (given: object, above: number): Measured => {
    const isArray = Array.isArray(given)
    const members = isArray ? given : Object.values(given)
    // Brackets, and the commas between.
    const size = { nodes: 1, text: 2 + Math.max(0, members.length - 1), depth: 1 }
    for (const key of isArray ? [] : Object.keys(given)) size.text += scalarText(key, bounds.text) + 1
    for (const member of members) {
      const { nodes, text, depth } = measure(member, above)
      size.nodes += nodes
      size.text += text
      size.depth = Math.max(size.depth, depth + 1)
      bounded(size)
    }
    return bounded(size)
  }
  const { nodes, text } = measure(value, 0)
  return { nodes, text }
}

/** How long a scalar is as JSON; what is longer than `enough` need not be counted to its end. */
function scalarText(value: unknown, enough: number): number {
  if (typeof value === 'string') return value.length > enough ? value.length : JSON.stringify(value).length
  if (typeof value === 'number') return Number.isFinite(value) ? String(value).length : 'null'.length
  return String(value ?? null).length
}
