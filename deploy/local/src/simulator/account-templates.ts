import { createHash } from 'node:crypto'
import { defined } from '@parley/shared/defined'
import { z } from 'zod'
import type { KnownTemplate } from './known-template.ts'
import { MetaError } from './meta-error.ts'

const MAX_MADE = 10_000
/** For a template that is known in any language. */
const LANGUAGES = ['en_US', 'pt_BR']
const INVALID = 100
/** Meta’s field of why it was refused. */
const REASON = 'rejected_reason'

const component = z.looseObject({ type: z.string().min(1).max(64) })
const draft = z.object({
  name: z.string().regex(/^[a-z0-9_]{1,512}$/),
  language: z.string().min(2).max(16),
  category: z.enum(['MARKETING', 'UTILITY', 'AUTHENTICATION']),
  parameter_format: z.enum(['POSITIONAL', 'NAMED']).optional(),
  components: z.array(component).min(1).max(10),
})
const changed = draft.pick({ category: true, components: true }).partial()

/** A template of an account in one language, as the Cloud API has it. */
interface AccountTemplate extends Omit<z.output<typeof draft>, 'category'> {
  id: string
  category: string
  status: string
  quality_score?: { score: string }
}

/** A state that Meta can report for a template. */
export const templateState = z.strictObject({
  name: z.string().min(1).max(512),
  /** All of its languages where it is left out. */
  language: z.string().min(2).max(16).optional(),
  status: z.string().min(1).max(64).optional(),
  category: z.string().min(1).max(64).optional(),
  quality: z.string().min(1).max(64).optional(),
  reason: z.string().min(1).max(256).optional(),
  /** The number whose webhook hears of it. */
  phoneNumberId: z.string().min(1).max(128).optional(),
})
type TemplateState = z.output<typeof templateState>

export interface AccountTemplates {
  list(account: string, name?: string): AccountTemplate[]
  /** Throws Meta's error for what it would refuse. */
  create(account: string, body: unknown): AccountTemplate
  edit(id: string, body: unknown): void
  remove(account: string, template: { id: string | undefined; name: string }): void
  setState(state: TemplateState): AccountTemplate[]
  /** The status in which a template stands; undefined where it is approved, or not known. */
  statusOf(name: string, language: string): string | undefined
  /** The category of a template, if it was reported or the API made the template; else undefined. */
  categoryOf(name: string, language: string): string | undefined
  /** A template that the API made, with all that a message of it needs. */
  made(name: string, language: string): AccountTemplate | undefined
}

/** Templates of every account: those that the simulator knows, and what was made by its API. */
export function createAccountTemplates(known: () => readonly KnownTemplate[]): AccountTemplates {
  const made = new Map<string, AccountTemplate & { account: string }>()
  const states = new Map<string, Pick<TemplateState, 'status' | 'category' | 'quality' | 'reason'>>()
  const stateOf = (name: string, language: string) => ({
    ...states.get(name),
    ...states.get(`${name}/${language}`),
  })
  const withState = (template: AccountTemplate): AccountTemplate => {
    const { status, category, quality, reason } = stateOf(template.name, template.language)
    return {
      ...template,
      ...defined({ status, category, [REASON]: reason }),
      ...(quality !== undefined && { quality_score: { score: quality } }),
    }
  }
  const list = (account: string, name?: string) => {
    const own = [...made.values()].filter((one) => one.account === account)
    const given = known().flatMap((one) =>
      (one.languages ?? LANGUAGES).map((language) => ofKnown(account, one, language)),
    )
    return [...given, ...own.map(({ account: _account, ...one }) => one)]
      .filter((one) => name === undefined || one.name.includes(name))
      .map(withState)
  }
  const madeOf = (name: string, language: string) =>
    [...made.values()].find((one) => one.name === name && one.language === language)
  return {
    list,
    create(account, body) {
      const found = read(draft, body)
      if (list(account).some((one) => one.name === found.name && one.language === found.language))
        throw refused('There is already a template of this name in this language', 2388024)
      if (made.size >= MAX_MADE) throw refused('The account has too many templates', 2388019)
      const template = { ...found, account, id: idOf(account, found.name, found.language), status: 'PENDING' }
      made.set(template.id, template)
      return template
    },
    edit(id, body) {
      const template = made.get(id)
      if (template === undefined)
        throw new MetaError({ status: 400, code: INVALID, message: `Object ${id} does not exist` })
      const { category = template.category, components = template.components } = read(changed, body)
      made.set(id, { ...template, category, components, status: 'PENDING' })
      // A state that was reported for all of its languages no longer applies to this one: it is reviewed again.
      states.set(`${template.name}/${template.language}`, { status: 'PENDING', category })
    },
    remove(account, { id, name }) {
      const gone = [...made.values()].filter(
        (one) => one.account === account && one.name === name && (id === undefined || one.id === id),
      )
      if (gone.length === 0) throw refused('The template does not exist', 2593002)
      for (const one of gone) made.delete(one.id)
    },
    setState({ name, language, phoneNumberId: _number, ...state }) {
      const key = language === undefined ? name : `${name}/${language}`
      if (language === undefined)
        for (const each of states.keys()) if (each.startsWith(`${name}/`)) states.delete(each)
      states.set(key, { ...states.get(key), ...state })
      const own = [...made.values()].map(({ account: _account, ...one }) => withState(one))
      return [...list('', name), ...own].filter(
        (one) => one.name === name && (language ?? one.language) === one.language,
      )
    },
    statusOf: (name, language) => stateOf(name, language).status ?? madeOf(name, language)?.status,
    categoryOf: (name, language) => stateOf(name, language).category ?? madeOf(name, language)?.category,
    made: madeOf,
  }
}

/** One that the simulator knows, with texts that have as many placeholders as it takes parameters. */
function ofKnown(
  account: string,
  { name, parameters, category = 'UTILITY', names, header, buttons }: KnownTemplate,
  language: string,
) {
  const placeholders = Array.from({ length: parameters }, (_, at) => `{{${names?.[at] ?? at + 1}}}`)
  const text = `Hello${placeholders.map((one) => ` ${one}`).join(',')}!`
  const places = Array.from({ length: Math.max(0, ...(buttons ?? []).map(({ index }) => index + 1)) })
  const all = places.map((_, at) => buttonOf(buttons?.find(({ index }) => index === at)?.type))
  return {
    ...{ id: idOf(account, name, language), name, language, status: 'APPROVED', category },
    ...(names !== undefined && { parameter_format: 'NAMED' as const }),
    components: [
      ...(header === undefined
        ? []
        : [{ type: 'HEADER', format: header.toUpperCase(), ...(header === 'text' && { text: '{{1}}' }) }]),
      { type: 'BODY', text },
      ...(all.length === 0 ? [] : [{ type: 'BUTTONS', buttons: all }]),
    ],
  }
}

function buttonOf(type: 'url' | 'copy_code' | undefined): object {
  if (type === 'url') return { type: 'URL', text: 'Open', url: 'https://example.com/{{1}}' }
  if (type === 'copy_code') return { type: 'COPY_CODE', text: 'Copy' }
  return { type: 'QUICK_REPLY', text: 'OK' }
}

/** An id of Meta's has digits alone. */
const idOf = (...names: string[]): string =>
  String(createHash('sha256').update(names.join('\0')).digest().readUIntBE(0, 6)).padStart(15, '1')

function read<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const found = schema.safeParse(body)
  if (found.success) return found.data
  const [issue] = found.error.issues
  throw refused(`${issue?.path.join('.')}: ${issue?.message}`, 2388023)
}

const refused = (details: string, subcode: number): MetaError =>
  new MetaError({ status: 400, code: INVALID, message: 'Invalid parameter', subcode, details })
