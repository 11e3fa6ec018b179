import { jsonObject } from '@parley/shared/json-object'
import { z } from 'zod'
import { withoutThoughts } from '../model/thoughts.ts'
import type { OpenedTool } from '../toolbox.ts'
import type { Tool } from './tool.ts'

const MAX_MESSAGE = 16 * 1024
const MAX_NAME = 512
const MAX_VARIABLES = 50

const callbackArgs = (maxText: number) =>
  z.object({
    message: z.string().max(maxText).nullish().describe('The text to say'),
    template: z
      .string()
      .max(MAX_NAME)
      .nullish()
      .describe('Instead of a text: the name of an approved template'),
    language: z.string().max(MAX_NAME).nullish().describe("The template's language, for example en"),
    variables: z
      .array(z.string().max(MAX_MESSAGE))
      .max(MAX_VARIABLES)
      .nullish()
      .describe("What the template's placeholders stand for, in order"),
  })
const handOffArgs = z.object({ reason: z.string().max(MAX_MESSAGE).describe('Why a person is to take over') })

/**
 * The tools that reach the person: `callback` says something before the work is done, in at most `maxText` characters;
 * `handOff` asks for one of the team.
 */
export const personTools = (maxText = MAX_MESSAGE): readonly Tool[] => [
  callbackTool(callbackArgs(maxText)),
  {
    name: 'handOff',
    description: 'Hands the conversation over to a person of the team.',
    inputSchema: schemaOf(handOffArgs),
    open: (args) => opened(handOffArgs, args, ({ reason }) => ({ kind: 'handOff', reason })),
  },
]

function callbackTool(args: ReturnType<typeof callbackArgs>): Tool {
  return {
    name: 'callback',
    description:
      'Says something to the person right now, before the work is done: either message, or template with language and variables.',
    inputSchema: schemaOf(args),
    open: (given) => opened(args, given, say),
  }
}

function say({
  template,
  language,
  variables,
  ...given
}: z.output<ReturnType<typeof callbackArgs>>): OpenedTool {
  const message = withoutThoughts(given.message ?? '')
  if (template && language && !message)
    return {
      kind: 'say',
      content: { kind: 'template', template, language, variables: (variables ?? []).map(withoutThoughts) },
    }
  if (message && !template) return { kind: 'say', content: { kind: 'text', text: message } }
  return { kind: 'invalid', reason: 'Give either a message, or a template with its language.' }
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
