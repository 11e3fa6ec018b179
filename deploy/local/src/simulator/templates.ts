import {
  buttonsIn,
  componentOf,
  headerFormat,
  isDynamic,
  placeholdersIn,
  typeIn,
} from '@parley/shared/providers/whatsapp/template-definition'
import { type AccountTemplates, createAccountTemplates } from './account-templates.ts'
import { type KnownTemplate, knownTemplate } from './known-template.ts'
import { MetaError } from './meta-error.ts'
import type { NewSend } from './send-log.ts'
import { type Components, parametersOf } from './template-components.ts'

const MAX_TEMPLATES = 10_000
const NOT_THERE = 132001
const WRONG_COUNT = 132000
const WRONG_FORMAT = 132012
const MISSING = 131008
const INVALID = 100
const PAUSED = 132015
const DISABLED = 132016

export interface Templates {
  /** Adds a template, or replaces the one of that name. Returns false when there are 10,000 others already. */
  add(template: KnownTemplate): boolean
  list(): KnownTemplate[]
  /** The same, and what was made by the API, as an account has them. */
  ofAccounts: AccountTemplates
  /** The category of a template; a name that nobody registered counts as `UTILITY`. */
  categoryOf(send: Pick<NewSend, 'template' | 'language'>): string
  /** Throws Meta's error for a template that does not fit; with `strict` also for one that is not registered. */
  check(send: Omit<NewSend, 'phoneNumberId'>, options: { strict: boolean }): void
}

const KNOWN: KnownTemplate[] = [
  { name: 'hello_world', languages: ['en_US'], parameters: 0 },
  { name: 'welcome_offer', parameters: 2, category: 'MARKETING' },
  { name: 'order_update', parameters: 2 },
  {
    ...{ name: 'login_code', parameters: 1, category: 'AUTHENTICATION' },
    buttons: [{ index: 0, type: 'url' }],
  },
  { name: 'invoice', parameters: 1, header: 'document' },
  { name: 'invoice_named', parameters: 1, names: ['customer_name'] },
]

/** The templates that the simulator knows. A name that nobody registered is taken with whatever it brings. */
export function createTemplates(): Templates {
  const known = new Map(KNOWN.map((each) => [each.name, each]))
  const ofAccounts = createAccountTemplates(() => [...known.values()])
  return {
    add(added) {
      if (known.size >= MAX_TEMPLATES && !known.has(added.name)) return false
      known.set(added.name, added)
      return true
    },
    list: () => [...known.values()],
    ofAccounts,
    categoryOf: ({ template: name = '', language = '' }) =>
      ofAccounts.categoryOf(name, language) ?? known.get(name)?.category ?? 'UTILITY',
    check({ type, template: name = '', language = '', variables = [], components = [] }, { strict }) {
      if (type !== 'template') return
      checkStatus(ofAccounts.statusOf(name, language), { name, language })
      const made = ofAccounts.made(name, language)
      const found = made === undefined ? known.get(name) : neededBy(made)
      if (found === undefined && !strict) return
      const languages = found?.languages ?? [language]
      if (found === undefined || !languages.includes(language)) throw notThere(name, language)
      if (found.parameters !== variables.length) throw wrongCount(found, variables.length)
      checkComponents(found, components)
    },
  }
}

/** Throws Meta's error for a template that is not sent now, or not any more. */
function checkStatus(
  status: string | undefined,
  { name, language }: { name: string; language: string },
): void {
  if (status === 'PAUSED')
    throw refused(PAUSED, 'Template is paused', `template name (${name}) is paused due to low quality`)
  if (status === 'DISABLED')
    throw refused(DISABLED, 'Template is disabled', `template name (${name}) was paused too many times`)
  if (status !== undefined && status !== 'APPROVED') throw notThere(name, language)
}

/** Returns the parameters that a message needs for a template made by the API. */
function neededBy({
  name,
  language,
  components,
}: NonNullable<ReturnType<AccountTemplates['made']>>): KnownTemplate {
  const texts = placeholdersIn((componentOf(components, 'body') as { text?: string } | undefined)?.text)
  const format = headerFormat(components)
  const isOpen =
    format !== 'text' || placeholdersIn(String(componentOf(components, 'header')?.text)).length > 0
  const header = knownTemplate.shape.header.safeParse(isOpen ? format : undefined).data
  return {
    ...{ name, languages: [language], parameters: texts.length },
    ...(texts.some((one) => !/^\d+$/.test(one)) && { names: texts }),
    ...(header !== undefined && { header }),
    buttons: buttonsIn(components).flatMap((button, index): NonNullable<KnownTemplate['buttons']> => {
      if (typeIn(button) === 'copy_code') return [{ index, type: 'copy_code' }]
      return isDynamic(button) || typeIn(button) === 'otp' ? [{ index, type: 'url' }] : []
    }),
  }
}

function checkComponents({ names = [], header, buttons = [] }: KnownTemplate, components: Components): void {
  const given = parametersOf(components, 'body').map((one) => one.parameter_name)
  if (names.some((name) => !given.includes(name)))
    throw refused(INVALID, 'Invalid parameter', 'Parameter name is missing or empty')
  const [ofHeader] = parametersOf(components, 'header')
  if (header !== undefined && ofHeader?.type !== header)
    throw refused(
      WRONG_FORMAT,
      'Parameter format does not match format in the created template',
      `header: Format mismatch, expected ${header.toUpperCase()}, received ${ofHeader?.type.toUpperCase() ?? 'UNKNOWN'}`,
    )
  const missing = buttons.find(
    ({ index, type }) =>
      !components.some(
        (one) =>
          'sub_type' in one &&
          one.sub_type?.toLowerCase() === type &&
          Number(one.index) === index &&
          one.parameters.length > 0,
      ),
  )
  if (missing !== undefined)
    throw refused(
      MISSING,
      'Required parameter is missing',
      `buttons: Button at index ${missing.index} of type ${missing.type} requires a parameter`,
    )
}

const refused = (code: number, message: string, details: string): MetaError =>
  new MetaError({ status: 400, code, message, details })

function notThere(name: string, language: string): MetaError {
  return new MetaError({
    status: 404,
    code: NOT_THERE,
    message: 'Template name does not exist in the translation',
    details: `template name (${name}) does not exist in ${language}`,
  })
}

function wrongCount({ parameters }: KnownTemplate, sent: number): MetaError {
  return new MetaError({
    status: 400,
    code: WRONG_COUNT,
    message: 'Number of parameters does not match the expected number of params',
    details: `body: number of localizable_params (${sent}) does not match the expected number of params (${parameters})`,
  })
}
