import { defined } from '@parley/shared/defined'
import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { markedUp, type Speaking } from '@parley/shared/providers/marked-up'
import type { Wrong } from '@parley/shared/providers/outbound'
import type { Provider } from '@parley/shared/providers/provider'
import { providerNamed } from '@parley/shared/providers/registry'
import { z } from 'zod'
import { contentsOf, SAID, withoutNulls, wrongText } from '../../message/said.ts'
import { withoutThoughts } from '../model/thoughts.ts'
import type { OpenedTool } from '../toolbox.ts'
import type { Tool } from './tool.ts'

const MAX_MESSAGE = 16 * 1024
const MAX_NAME = 512
const MAX_VARIABLES = 50

const text = z.string().max(MAX_MESSAGE)
const texts = z.array(text).max(MAX_VARIABLES)
const callbackArgs = (maxText: number) =>
  z.strictObject({
    message: z.string().max(maxText).nullish().describe('The text to say'),
    template: z
      .string()
      .max(MAX_NAME)
      .nullish()
      .describe('Instead of a text: the name of an approved template'),
    language: z.string().max(MAX_NAME).nullish().describe("The template's language, for example en"),
    variables: z
      .union([texts, z.record(z.string(), text)])
      .nullish()
      .describe("What the template's placeholders stand for: a list in order, or an object by name"),
  })
/** What a provider takes beside, in our form. */
const objectArgs = (limits: string) => ({
  ...SAID,
  buttons: SAID.buttons.describe(`What the person may choose from. ${limits}`),
  components: z
    .array(z.looseObject({ type: z.string() }))
    .optional()
    .describe('What else a template takes, as the provider has it: header, body, buttons, carousel'),
})
const handOffArgs = z.object({ reason: z.string().max(MAX_MESSAGE).describe('Why a person is to take over') })
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
    open: (args) => opened(handOffArgs, args, ({ reason }) => ({ kind: 'handOff', reason })),
  },
]

interface CallbackTool {
  args: z.ZodObject
  inputSchema: JsonObject
  maxText: number
}

const OF_NONE = callbackOf({})
/** Made once for each provider: schemas are large. */
const ofProviders = new WeakMap<Provider, CallbackTool>()

function callbackOf({ maxText = MAX_MESSAGE, objects }: Partial<Provider['outbound']>): CallbackTool {
  const texts = callbackArgs(maxText)
  const args = objects === undefined ? texts : texts.extend(objectArgs(objects.limits))
  return { args, inputSchema: schemaOf(args), maxText }
}

function callbackTool(channel: Speaking): Tool {
  const provider = providerNamed(channel.callback)
  const known =
    provider === undefined ? OF_NONE : (ofProviders.get(provider) ?? callbackOf(provider.outbound))
  if (provider !== undefined) ofProviders.set(provider, known)
  const { args, inputSchema, maxText } = known
  return {
    name: 'callback',
    description:
      'Says something to the person right now, before the work is done: either message, or template with language and variables.',
    inputSchema,
    open: (given) => opened(args, withoutNulls(given), (found) => say(found, { channel, maxText })),
  }
}

function say(
  { message, variables, ...args }: JsonObject,
  { channel, maxText }: { channel: Speaking; maxText: number },
): OpenedTool {
  const text = typeof message === 'string' ? withoutThoughts(message) : ''
  if ((args.template === undefined) !== (args.language === undefined)) return EITHER
  if (text !== '' && args.template !== undefined) return EITHER
  const written = text === '' ? undefined : markedUp(text, channel)
  const said = contentsOf(
    { ...args, ...defined({ message: written, variables: spoken(variables) }) },
    channel,
  )
  if (said.kind === 'refused') return invalid(said.errors)
  const [content] = said.contents
  if (content?.kind !== 'text' || content.text.length <= maxText)
    return content === undefined ? EITHER : { kind: 'say', content }
  return invalid([{ path: ['message'], message: `has more than ${maxText} characters` }])
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
  if (Array.isArray(variables)) return variables.map(withoutThoughts)
  const named = jsonObject.safeParse(variables).data
  if (named === undefined) return undefined
  return Object.fromEntries(
    Object.entries(named).map(([key, value]) => [key, withoutThoughts(String(value))]),
  )
}

/** The JSON Schema of a tool's arguments. */
export function schemaOf(args: z.ZodObject): Tool['inputSchema'] {
  const { $schema, ...schema } = jsonObject.parse(z.toJSONSchema(args, { io: 'input' }))
  return schema
}

/** What arguments that fit make, or why they don't fit. */
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
