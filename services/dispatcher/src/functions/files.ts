import { randomUUID } from 'node:crypto'
import { type JsonObject, pointerSegment } from '@parley/shared/json-object'
import { ArgsError, isObject } from './spec-document.ts'

/** Of one call. */
const MAX_FILES = 5
const MAX_POSITION = 50
const SAYING =
  'A file: its text, or {"media": 1} for the latest file that the person sent, {"media": 2} for the one before it, and so on.'

/** A file that the person sent, counted from the latest one, and the media types that the place takes for it. */
interface NamedFile {
  media: number
  accept?: string
}

/** Files in the body of a request, whose bytes are not read yet: `mark:<index>:<what>:` stands for each. */
export interface RequestFiles {
  mark: string
  named: NamedFile[]
}

/** How a model names a file; what the schema says of it stays in words. */
export function fileSchema({ description }: JsonObject = {}): JsonObject {
  const media = { type: 'integer', minimum: 1, maximum: MAX_POSITION }
  return {
    description: [description, SAYING].filter((text) => typeof text === 'string').join(' '),
    anyOf: [
      { type: 'string' },
      { type: 'object', properties: { media }, required: ['media'], additionalProperties: false },
    ],
  }
}

/** Collects the files that a body names, and writes a mark in the place of each. */
export class FileMarks {
  readonly files: RequestFiles = { mark: randomUUID(), named: [] }

  /** A value with its files marked, of a property of that name or of the body. Throws {@link ArgsError}. */
  marked(value: unknown, at: string): unknown {
    if (Array.isArray(value)) return value.map((one, index) => this.marked(one, `${at}/${index}`))
    if (!isObject(value) || Object.keys(value).join() !== 'media') return value
    const { media } = value
    if (!Number.isInteger(media) || Number(media) < 1 || Number(media) > MAX_POSITION)
      throw new ArgsError(`${at}/media`, `is no number from 1 to ${MAX_POSITION}`)
    const { mark, named } = this.files
    if (named.length === MAX_FILES) throw new ArgsError(at, `is one more than ${MAX_FILES} files`)
    named.push({ media: Number(media) })
    return `${mark}:${named.length - 1}`
  }

  markedIn(value: unknown, names: Iterable<string>): unknown {
    if (!isObject(value)) return value
    const own = [...names].filter((name) => Object.hasOwn(value, name))
    const files = own.map((name) => [name, this.marked(value[name], `/${pointerSegment(name)}`)] as const)
    return { ...value, ...Object.fromEntries(files) }
  }

  /** Returns the file of a mark, if the place takes its type; undefined where the value is no mark. */
  fileAt(value: unknown, accept?: string): string | undefined {
    const { mark, named } = this.files
    if (typeof value !== 'string' || !value.startsWith(`${mark}:`)) return undefined
    const file = named[Number(value.slice(mark.length + 1))]
    if (file !== undefined && accept !== undefined) file.accept = accept
    return value
  }
}

/** A file as it was read. */
export interface ReadFile {
  bytes: Buffer
  contentType: string
  fileName: string
}

/** A body with the files in the places of their marks. */
export function withFiles(body: string, mark: string, files: readonly ReadFile[]): Buffer {
  const [before = '', ...pieces] = body.split(`${mark}:`)
  const filled = pieces.flatMap((piece) => {
    const [index = '', what, ...rest] = piece.split(':')
    const { bytes, contentType, fileName } = files[Number(index)] as ReadFile
    const value = what === 'bytes' ? bytes : Buffer.from(what === 'name' ? fileName : contentType)
    return [value, Buffer.from(rest.join(':'))]
  })
  return Buffer.concat([Buffer.from(before), ...filled])
}

/** True if a place takes a file of this type, by the list in its `contentType`. */
export function takes(accept: string | undefined, contentType: string): boolean {
  const [type = ''] = contentType.toLowerCase().split(';')
  const [family] = type.split('/')
  const taken = (accept ?? '*/*').split(',').map((one) => one.split(';', 1)[0]?.trim().toLowerCase())
  return taken.some(
    (one) => one === type || one === `${family}/*` || one === '*/*' || one === 'application/octet-stream',
  )
}
