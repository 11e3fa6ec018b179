import { z } from 'zod'
import { MetaError } from './meta-error.ts'
import type { NewSend } from './send-log.ts'

const MAX_TEMPLATES = 10_000
const NOT_THERE = 132001
const WRONG_COUNT = 132000

/** A template that was approved: in any language where none is named, with so many parameters in its body. */
export const template = z.strictObject({
  name: z.string().min(1).max(512),
  languages: z.array(z.string().min(2).max(16)).min(1).max(100).optional(),
  parameters: z.int().min(0).max(100),
})
type Template = z.output<typeof template>

export interface Templates {
  /** Adds a template, or replaces the one of that name. Returns false when there are 10,000 others already. */
  add(template: Template): boolean
  list(): Template[]
  /** Throws Meta's error for a template that does not fit; with `strict` also for one that is not registered. */
  check(send: Omit<NewSend, 'phoneNumberId'>, options: { strict: boolean }): void
}

const KNOWN: Template[] = [
  { name: 'hello_world', languages: ['en_US'], parameters: 0 },
  { name: 'welcome_offer', parameters: 2 },
  { name: 'order_update', parameters: 2 },
]

/** The templates that the simulator knows. A name that nobody registered is taken with whatever it brings. */
export function createTemplates(): Templates {
  const known = new Map(KNOWN.map((each) => [each.name, each]))
  return {
    add(added) {
      if (known.size >= MAX_TEMPLATES && !known.has(added.name)) return false
      known.set(added.name, added)
      return true
    },
    list: () => [...known.values()],
    check({ type, template: name = '', language = '', variables = [] }, { strict }) {
      if (type !== 'template') return
      const found = known.get(name)
      if (found === undefined && !strict) return
      const languages = found?.languages ?? [language]
      if (found === undefined || !languages.includes(language)) throw notThere(name, language)
      if (found.parameters !== variables.length) throw wrongCount(found, variables.length)
    },
  }
}

function notThere(name: string, language: string): MetaError {
  return new MetaError({
    status: 404,
    code: NOT_THERE,
    message: 'Template name does not exist in the translation',
    details: `template name (${name}) does not exist in ${language}`,
  })
}

function wrongCount({ parameters }: Template, sent: number): MetaError {
  return new MetaError({
    status: 400,
    code: WRONG_COUNT,
    message: 'Number of parameters does not match the expected number of params',
    details: `body: number of localizable_params (${sent}) does not match the expected number of params (${parameters})`,
  })
}
