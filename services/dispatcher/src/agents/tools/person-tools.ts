import { defined } from '@parley/shared/defined'
import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { markedUp, type Speaking } from '@parley/shared/providers/marked-up'
import type { ObjectRules, Wrong } from '@parley/shared/providers/outbound'
import { providerNamed } from '@parley/shared/providers/registry'
import { z } from 'zod'
import { contentsOf, withoutNulls, wrongText } from '../../message/said.ts'
import { withoutThoughts } from '../model/thoughts.ts'
import type { OpenedTool, Tool } from '../toolbox.ts'

const MAX_MESSAGE = 16 * 1024

/** The arguments of `callback` that a model is shown: each call of a model pays for them. More are accepted. */
const texts = {
  message: z.string().optional().describe('The text to say'),
  template: z.string().optional().describe('Instead of a text: the name of an approved template'),
  language: z.string().optional().describe("The template's language, for example en"),
  variables: z
    .union([z.array(z.string()), z.record(z.string(), z.string())])
    .optional()
    .describe("What the template's placeholders stand for: in order, or by name"),
}
const choice = { id: z.string().optional(), title: z.string() }
/** Returns the fields of a provider that composes objects of its own. */
const objectsOf = (limits: string) => ({
  buttons: z
    .array(z.object({ ...choice, url: z.string().optional() }))
    .optional()
    .describe(`With a message: what the person may choose from. ${limits}`),
  list: z
    .object({
      button: z.string().describe('What opens it'),
      rows: z.array(z.object({ ...choice, description: z.string().optional() })),
    })
    .optional()
    .describe('A menu in the place of buttons'),
  image: z.object({ link: z.string() }).optional().describe('The message is its caption'),
  document: z.object({ link: z.string(), filename: z.string().optional() }).optional(),
  location: z
    .object({
      latitude: z.number(),
      longitude: z.number(),
      name: z.string().optional(),
      address: z.string().optional(),
    })
    .optional(),
  components: z
    .array(z.object({ type: z.string() }))
    .optional()
    .describe('What else the template takes, as the provider has it'),
})
const handOffArgs = z.object({
  reason: z.string().max(MAX_MESSAGE).describe('Why a person is to take over'),
  message: z.string().max(MAX_MESSAGE).optional().describe('What to say to the person before'),
})
const HAND_OFF = schemaOf(handOffArgs)

/**
 * The tools that reach the person: `callback` says something before the work is done, in one send; `handOff` asks for one
 * of the team.
 */
export const personTools = (channel: Speaking): readonly Tool[] => [
  callbackTool(channel),
  {
    name: 'handOff',
    description: 'Hands the conversation over to a person of the team.',
    inputSchema: HAND_OFF,
    open: (args) => opened(handOffArgs, withoutNulls(args), ({ reason }) => ({ kind: 'handOff', reason })),
  },
]

const OF_TEXTS = schemaOf(z.strictObject(texts))
/** Made once for each provider: they are large. */
const schemas = new WeakMap<ObjectRules, JsonObject>()

function inputSchemaOf(objects: ObjectRules | undefined): JsonObject {
  if (objects === undefined) return OF_TEXTS
  const schema = schemas.get(objects) ?? schemaOf(z.strictObject({ ...texts, ...objectsOf(objects.limits) }))
  schemas.set(objects, schema)
  return schema
}

function callbackTool(channel: Speaking): Tool {
  const { maxText = MAX_MESSAGE, objects } = providerNamed(channel.callback)?.outbound ?? {}
  return {
    name: 'callback',
    description:
      'Says something to the person right now, before the work is done: either message, or template with language and variables.',
    inputSchema: inputSchemaOf(objects),
    open: (args) => say(withoutNulls(args), { channel, maxText }),
  }
}

function say(
  { message, variables, ...args }: JsonObject,
  { channel, maxText }: { channel: Speaking; maxText: number },
): OpenedTool {
  const text = typeof message === 'string' ? withoutThoughts(message) : message
  if ((args.template === undefined) !== (args.language === undefined)) return EITHER
  if (text && args.template !== undefined) return EITHER
  const written = typeof text === 'string' && text !== '' ? markedUp(text, channel) : text || undefined
  if (typeof written === 'string' && written.length > maxText)
    return invalid([{ path: ['message'], message: `has more than ${maxText} characters` }])
  const said = contentsOf(
    { ...args, ...defined({ message: written, variables: spoken(variables) }) },
    channel,
  )
  if (said.kind === 'refused') return invalid(said.errors)
  const [content] = said.contents
  return content === undefined ? EITHER : { kind: 'say', content }
}

const EITHER: OpenedTool = {
  kind: 'invalid',
  reason: 'Give either a message, or a template with its language.',
}

const invalid = (errors: readonly Wrong[]): OpenedTool => ({
  kind: 'invalid',
  reason: errors.map((wrong) => `The argument ${wrongText(wrong)}.`).join(' '),
})

/** Texts, by position or by name, without what a model thought. */
function spoken(variables: unknown): unknown {
  if (typeof variables === 'string') return withoutThoughts(variables)
  if (Array.isArray(variables)) return variables.map(spoken)
  const named = jsonObject.safeParse(variables).data
  return named === undefined
    ? variables
    : Object.fromEntries(Object.entries(named).map(([key, value]) => [key, spoken(value)]))
}

/** The JSON Schema of a tool's arguments. */
export function schemaOf(args: z.ZodObject): Tool['inputSchema'] {
  const { $schema, ...schema } = jsonObject.parse(z.toJSONSchema(args, { io: 'input' }))
  return schema
}

/** Returns the arguments if they fit the schema, or the reason why they don't. */
export function opened<S extends z.ZodType>(
  schema: S,
  args: unknown,
  make: (args: z.output<S>) => OpenedTool,
): OpenedTool {
  const parsed = schema.safeParse(args)
  if (parsed.success) return make(parsed.data)
  const [issue] = parsed.error.issues
  const at = issue?.path.length ? `The argument /${issue.path.join('/')}` : 'The arguments'
  return { kind: 'invalid', reason: `${at}: ${issue?.message}.` }
}
