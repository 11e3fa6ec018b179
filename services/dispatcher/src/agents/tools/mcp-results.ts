import { isDeepStrictEqual } from 'node:util'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { z } from 'zod'
import { withItsNumbers } from '../exact-responses.ts'
import type { ToolImage } from './tool-images.ts'

/** Blocks of a result that are looked at: what a model is given of them is cut long before. */
const MAX_BLOCKS = 500
/** The most characters that describe a block besides its text. */
const MAX_LABEL = 500

/**
 * What the SDK checks results with tries each block of a content as everything that it might be, which takes a hundred
 * times as long as reading it. Here it is read as far as it is used.
 */
const block = z.object({
  type: z.string(),
  text: unlessNull(z.string()),
  data: unlessNull(z.string()),
  mimeType: unlessNull(z.string()),
  uri: unlessNull(z.string()),
  name: unlessNull(z.string()),
  description: unlessNull(z.string()),
  resource: unlessNull(
    z.object({
      uri: unlessNull(z.string()),
      text: unlessNull(z.string()),
      blob: unlessNull(z.string()),
      mimeType: unlessNull(z.string()),
    }),
  ),
})
type Block = z.output<typeof block>

export const callResult = z.object({
  content: z
    .array(z.unknown())
    .nullish()
    .transform((blocks) => (blocks ?? []).slice(0, MAX_BLOCKS))
    .pipe(z.array(block)),
  structuredContent: z
    .unknown()
    .optional()
    .transform((value) => value ?? undefined),
  isError: unlessNull(z.boolean()),
})
export type CallResult = z.output<typeof callResult>

/** The schema of a tool's arguments. Many servers leave its type out, or the whole of it where a tool has none. */
const argumentsSchema = z
  .looseObject({})
  .nullish()
  .transform((schema, context) => {
    const { type, ...rest } = schema ?? {}
    if (type === undefined || type === null || [type].flat().includes('object'))
      return { type: 'object' as const, ...rest }
    context.addIssue({ code: 'custom', message: 'takes arguments that are no object' })
    return z.NEVER
  })

export const serverTool = z.object({
  name: z.string(),
  description: unlessNull(z.string()),
  inputSchema: argumentsSchema,
  annotations: unlessNull(
    z.object({ readOnlyHint: unlessNull(z.boolean()), idempotentHint: unlessNull(z.boolean()) }),
  ),
  execution: unlessNull(z.object({ taskSupport: unlessNull(z.string()) })),
})

/** A page of a list of tools, each of which is a {@link serverTool}. */
export const toolPage = z.object({ tools: z.array(z.unknown()), nextCursor: unlessNull(z.string()) })

/** Servers whose language has no other word for what is not there write null. */
function unlessNull<T>(schema: z.ZodType<T>) {
  return schema.nullish().transform((value) => value ?? undefined)
}

/** Returns a result as text; other blocks are named. Structured content is in it once, though servers repeat it. */
export function textOf({ content, structuredContent }: CallResult): string {
  const texts = content.map(blockText)
  if (structuredContent !== undefined && !isRepeated(content, structuredContent))
    texts.push(withItsNumbers(JSON.stringify(structuredContent)))
  return texts.length === 0 ? 'It answered with nothing.' : texts.join('\n')
}

/** True if a text is the structured content, as the protocol asks servers to repeat it. */
function isRepeated(content: readonly Block[], structured: unknown): boolean {
  const plain = jsonOrUndefined(withItsNumbers(JSON.stringify(structured)))
  return content.some(
    ({ type, text }) => type === 'text' && isDeepStrictEqual(jsonOrUndefined(text ?? ''), plain),
  )
}

/** The images of a result that every provider reads, by their bytes: servers also name wrong types. */
export function imagesOf({ content }: Pick<CallResult, 'content'>): ToolImage[] {
  return content.flatMap(({ type, data, resource }) => {
    const bytes = type === 'image' ? data : type === 'resource' ? resource?.blob : undefined
    const image = bytes === undefined ? undefined : imageOf(Buffer.from(bytes, 'base64'))
    return image === undefined ? [] : [image]
  })
}

/** How the bytes begin; of WebP also what stands at 8. */
const SIGNATURES: readonly [string, string, string?][] = [
  ['image/png', '89504e470d0a1a0a'],
  ['image/jpeg', 'ffd8ff'],
  ['image/gif', '474946383761'],
  ['image/gif', '474946383961'],
  ['image/webp', '52494646', '57454250'],
]

function imageOf(data: Buffer): ToolImage | undefined {
  const [beginning, at8] = [data.toString('hex', 0, 8), data.toString('hex', 8, 12)]
  const found = SIGNATURES.find(
    ([, signature, later]) => beginning.startsWith(signature) && (later === undefined || later === at8),
  )
  return found && { mediaType: found[0], data }
}

function blockText(one: Block): string {
  const { type, text, data, mimeType, uri, name, description, resource } = one
  if (type === 'text') return text ?? ''
  if (type === 'resource' && resource?.text !== undefined)
    return resource.uri === undefined
      ? resource.text
      : `${label('resource', [resource.uri])}\n${resource.text}`
  if (type === 'resource') return label(type, [resource?.uri, resource?.mimeType, sizeOf(resource?.blob)])
  if (type === 'resource_link') return label('resource', [name, uri, mimeType, description])
  return label(type, [mimeType, sizeOf(data)])
}

function label(type: string, parts: readonly (string | undefined)[]): string {
  const said = parts.filter((one) => one !== undefined && one !== '').join(', ')
  return `[${`${type} ${said}`.trim().slice(0, MAX_LABEL).toWellFormed()}]`
}

/** Of base64. */
function sizeOf(data: string | undefined): string | undefined {
  return data === undefined ? undefined : `${Math.ceil((data.length * 3) / 4 / 1024)} KiB`
}
