import { type JsonObject, pointerSegment } from '@parley/shared/json-object'
import type { Speaking } from '@parley/shared/providers/marked-up'
import type { ObjectRules, Wrong } from '@parley/shared/providers/outbound'
import { providerNamed } from '@parley/shared/providers/registry'
import { z } from 'zod'
import type { PersonalContent } from './message-record.ts'
import { textsOf } from './split-text.ts'

const MAX_SHORT = 1_024
const MAX_CHOICES = 100
const MAX_OBJECT_BYTES = 64 * 1024

const TO_PERSON = 'callback'

const short = z.string().min(1).max(MAX_SHORT)
const media = z.strictObject({
  link: z
    .url({ protocol: /^https?$/ })
    .max(2 * MAX_SHORT)
    .describe('Where it is on the web'),
  filename: short.optional(),
})
const choice = z.strictObject({
  id: short.optional().describe('What comes back when it is chosen; the title where there is none'),
  title: short,
  url: short.optional().describe('Opens this address instead; the only button then'),
})
const rows = z
  .array(z.strictObject({ id: short.optional(), title: short, description: short.optional() }))
  .min(1)
  .max(MAX_CHOICES)

/** The arguments of `callback` beside a text: our one form, from which each provider composes its own. */
const SAID = {
  header: short.optional().describe('Above the message'),
  footer: short.optional().describe('Below the message'),
  buttons: z.array(choice).min(1).max(MAX_CHOICES).optional().describe('What the person may choose from'),
  list: z
    .strictObject({
      button: short.describe('What opens the list'),
      rows: rows.optional(),
      sections: z
        .array(z.strictObject({ title: short.optional(), rows }))
        .max(MAX_CHOICES)
        .optional()
        .describe('In the place of rows'),
    })
    .optional()
    .describe('A menu to choose from, in the place of buttons'),
  image: media.optional(),
  video: media.optional(),
  audio: media.optional(),
  document: media.optional(),
  sticker: media.optional(),
  location: z
    .strictObject({
      latitude: z.number().min(-90).max(90),
      longitude: z.number().min(-180).max(180),
      name: short.optional(),
      address: short.optional(),
    })
    .optional(),
}
const saidArgs = z.strictObject({ message: z.string().optional(), ...SAID })
type Said = z.output<typeof saidArgs>

const KEYS = [...Object.keys(saidArgs.shape), 'template']

/** The contents for the person; or the arguments that are not understood, or that the provider does not take. */
type SaidContents = { kind: 'contents'; contents: PersonalContent[] } | { kind: 'refused'; errors: Wrong[] }

/**
 * Whether a function of an answer goes to the person, and is no operation of an action: one called `callback`, or any with
 * a template and its language.
 */
export function isSaid({
  name,
  args,
}: {
  name?: string | null | undefined
  args?: JsonObject | null | undefined
}) {
  if (!args) return false
  if (typeof args.template === 'string' && typeof args.language === 'string') return true
  return name === TO_PERSON && KEYS.some((key) => Object.hasOwn(args, key) && args[key] !== null)
}

/**
 * What sends the arguments of a call of `callback`. A provider with no objects of its own gets a readable text for them,
 * in parts of `maxText`.
 */
export function contentsOf(args: JsonObject, { callback }: Speaking, maxText?: number): SaidContents {
  const plain = plainTemplate(args)
  if (plain !== undefined) return { kind: 'contents', contents: [plain] }
  // Stored numbers are doubles; an argument that is null counts as left out.
  const given = withoutNulls(JSON.parse(JSON.stringify(args)))
  const objects = providerNamed(callback)?.outbound.objects
  if (given.template !== undefined) return templateContents(given, { callback, objects })
  const parsed = saidArgs.safeParse(given)
  if (!parsed.success) return { kind: 'refused', errors: wrongIn(parsed.error) }
  const { message = '', ...others } = parsed.data
  const isText = Object.keys(others).length === 0
  if (isText || objects === undefined) {
    const text = isText ? message : readable(parsed.data)
    if (text.trim() === '') return refused(['message'], 'is missing')
    return { kind: 'contents', contents: textsOf(text, maxText).map(({ content }) => content) }
  }
  return composed(given, { callback, objects })
}

/** Models give null for what they leave out. What a template is given is the provider's, which may have nulls of its own. */
export const withoutNulls = (args: JsonObject): JsonObject =>
  leftOut(args, typeof args.template !== 'string') as JsonObject

function leftOut(value: unknown, isDeep: boolean): unknown {
  if (typeof value !== 'object' || value === null) return value
  const inner = (one: unknown) => (isDeep ? leftOut(one, isDeep) : one)
  if (Array.isArray(value)) return value.map(inner)
  const there = Object.entries(value).filter(([, one]) => one !== null)
  return Object.fromEntries(there.map(([key, one]) => [key, inner(one)]))
}

const refused = (path: string[], message: string): SaidContents => ({
  kind: 'refused',
  errors: [{ path, message }],
})

interface Composing {
  callback: string
  objects: Pick<ObjectRules, 'compose'> | undefined
}

const PLAIN = ['template', 'language', 'variables']
const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

/** A template alone, or with texts for its body by position: the same to every provider, and what most messages are. */
function plainTemplate(args: JsonObject): PersonalContent | undefined {
  const { template, language, variables } = args
  if (typeof template !== 'string' || template === '' || typeof language !== 'string') return undefined
  for (const key in args) if (!PLAIN.includes(key)) return undefined
  const texts = variables ?? []
  return isTexts(texts) ? { kind: 'template', template, language, variables: texts } : undefined
}

function templateContents(args: JsonObject, { callback, objects }: Composing): SaidContents {
  const { template, language, variables = [], ...more } = args
  if (typeof template !== 'string' || template === '') return refused(['template'], 'expected a name')
  if (typeof language !== 'string') return refused(['language'], 'expected the code of a language')
  const plain = plainTemplate(args)
  if (plain !== undefined) return { kind: 'contents', contents: [plain] }
  if (objects !== undefined) return composed(args, { callback, objects })
  const texts = isTexts(variables) ? variables : []
  const others = isTexts(variables) ? more : { variables, ...more }
  const content = { kind: 'template' as const, template, language, variables: texts }
  return { kind: 'contents', contents: [{ ...content, more: JSON.stringify(others) }] }
}

function composed(
  args: JsonObject,
  { callback, objects }: Composing & { objects: Pick<ObjectRules, 'compose'> },
): SaidContents {
  const result = objects.compose(args)
  if (result.kind === 'refused') return result
  const object = JSON.stringify(result.object)
  if (Buffer.byteLength(object) > MAX_OBJECT_BYTES) return refused([], 'are larger than 64 KiB')
  const content = { kind: 'object' as const, provider: callback, type: String(result.object.type), object }
  return { kind: 'contents', contents: [content] }
}

const wrongIn = ({ issues }: z.ZodError): Wrong[] =>
  issues.map(({ path, message }) => ({ path: path.map(String), message }))

/** An error as a pointer into what was given, and what is wrong there. */
export const wrongText = ({ path, message }: Wrong, at = ''): string =>
  `${at}${path.map((key) => `/${pointerSegment(key)}`).join('')}: ${message}`

/** Returns the contents as a text, for people who get nothing else. */
function readable({ header, message, footer, buttons = [], list, location, ...files }: Said): string {
  const all = [...(list?.rows ?? []), ...(list?.sections ?? []).flatMap(({ rows }) => rows)]
  const choices = [
    ...buttons.map(({ title, url }) => (url === undefined ? `- ${title}` : `${title}: ${url}`)),
    ...all.map(
      ({ title, description }) => `- ${title}${description === undefined ? '' : `: ${description}`}`,
    ),
  ]
  const links = Object.values(files).map(({ filename, link } = { link: '' }) =>
    filename === undefined ? link : `${filename}: ${link}`,
  )
  const place = location && [location.name, location.address, `${location.latitude}, ${location.longitude}`]
  const parts = [
    header,
    message,
    choices.join('\n'),
    links.join('\n'),
    place?.filter(Boolean).join('\n'),
    footer,
  ]
  return parts.filter((part) => part !== undefined && part !== '').join('\n\n')
}
