import { ForeignDocumentError, readForeignDocument } from '@parley/shared/foreign-document'
import { t } from '../language.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace']

/** An operation of an OpenAPI document that can be a tool. */
export interface Operation {
  id: string
  method: string
  path: string
  summary: string
  tags: readonly string[]
}

/** The parts of an OpenAPI document that a form needs. */
interface ReadSpec {
  title: string
  description: string
  operations: Operation[]
  /** Operations that are no tools, because they have no `operationId`. */
  unnamed: string[]
  /** As the document says it, which may be relative. */
  server: string | undefined
  /** Why it can't be read. */
  problem?: string
}

const NOTHING: ReadSpec = { title: '', description: '', operations: [], unnamed: [], server: undefined }

/** Reads an OpenAPI document; says what is wrong with one that can't be read. */
export function readSpec(text: string): ReadSpec {
  try {
    const document = fieldsOf(readForeignDocument(text))
    const info = fieldsOf(document.info)
    const all = Object.entries(fieldsOf(document.paths)).flatMap(([path, item]) =>
      Object.entries(fieldsOf(item)).flatMap(([method, value]) =>
        METHODS.includes(method) ? [{ ...fieldsOf(value), method, path }] : [],
      ),
    )
    const named = all.filter(({ operationId }) => typeof operationId === 'string' && operationId !== '')
    return {
      title: textOf(info.title),
      description: textOf(info.description),
      operations: named.map(({ method, path, operationId, summary, description, tags }) => ({
        ...{ id: String(operationId), method, path },
        summary: textOf(summary) || textOf(description),
        tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [],
      })),
      unnamed: all
        .filter((one) => !named.includes(one))
        .map(({ method, path }) => `${method.toUpperCase()} ${path}`),
      server: serverOf(document),
    }
  } catch (error) {
    const reason =
      error instanceof ForeignDocumentError
        ? (error.syntax ?? t('it {message}', { message: error.message }))
        : String(error)
    return { ...NOTHING, problem: t('It can’t be read: {reason}', { reason }) }
  }
}

/** Returns the URL that executes the operations: their own server, or one at the address of the document. */
export function moduleUrlOf({ server }: ReadSpec, foundAt: string | undefined): string {
  if (isAbsolute(server) || foundAt === undefined) return 'native:request'
  const { origin, pathname } = new URL(foundAt)
  return `native:request?server=${encodeURIComponent(server === undefined ? origin : origin + pathname)}`
}

const isAbsolute = (url: string | undefined): boolean => /^https?:\/\//.test(url ?? '')

type Fields = {
  [name: string]: unknown
  operationId?: unknown
  summary?: unknown
  description?: unknown
  tags?: unknown
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

function serverOf(document: Fields): string | undefined {
  const [first] = Array.isArray(document.servers) ? document.servers : []
  return textOf(fieldsOf(first).url) || (document.host ? `https://${document.host}` : undefined)
}
