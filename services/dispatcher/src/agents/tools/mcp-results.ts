import { isDeepStrictEqual } from 'node:util'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { z } from 'zod'
import { withItsNumbers } from '../exact-responses.ts'
import type { ToolImage } from './tool-images.ts'

/** Blocks of a result that are looked at: what a model is given of them is cut long before. */
const MAX_BLOCKS = 500
/** What is said of a block besides its text. */
const MAX_LABEL = 500

/**
 * What the SDK checks results with tries each block of a content as everything that it might be, which takes a hundred
 * times as long as reading it. Here it is read as far as it is used.
 */
const block = z.object({
  type: z.string(),
  text: z.string().optional(),
  data: z.string().optional(),
  mimeType: z.string().optional(),
  uri: z.string().optional(),
  name: z.string().optional(),
  description: z.string().optional(),
  resource: z
    .object({
      uri: z.string().optional(),
      text: z.string().optional(),
      blob: z.string().optional(),
      mimeType: z.string().optional(),
    })
    .optional(),
})
type Block = z.output<typeof block>

export const callResult = z.object({
  content: z
    .array(z.unknown())
    .transform((blocks) => blocks.slice(0, MAX_BLOCKS))
    .pipe(z.array(block))
    .default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
})
export type CallResult = z.output<typeof callResult>

export const serverTool = z.object({
  name: z.string(),
  description: z.string().optional(),
  inputSchema: z.looseObject({ type: z.literal('object') }),
  annotations: z
    .object({ readOnlyHint: z.boolean().optional(), idempotentHint: z.boolean().optional() })
    .optional(),
  execution: z.object({ taskSupport: z.string().optional() }).optional(),
})

/** A page of a list of tools, each of which is a {@link serverTool}. */
export const toolPage = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })

/** What a result says, as text; what is no text is named. What is structured is there once, though servers repeat it as text. */
export function textOf({ content, structuredContent }: CallResult): string {
  const texts = content.map(blockText)
  if (structuredContent !== undefined && !isRepeated(content, structuredContent))
    texts.push(withItsNumbers(JSON.stringify(structuredContent)))
  return texts.length === 0 ? 'It answered with nothing.' : texts.join('\n')
}

/** Whether a text is the structured content, as the protocol asks servers to repeat it. */
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
