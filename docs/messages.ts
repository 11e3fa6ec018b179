import { readFileSync, writeFileSync } from 'node:fs'
import { KINDS } from '@parley/shared/configuration-resources'
import { LANGUAGES } from '@parley/shared/languages'
import { allProviders } from '@parley/shared/providers/registry'
import { filesOfTree } from '../tests/source/modules.ts'
import { textsOf } from '../tests/source/texts.ts'
import { openApiDocument } from './openapi/document.ts'

const CONSOLE = /^gateway\/console\/src\/.*(?<!\.d)\.tsx?$/
const EXPLANATION = 'shared/src/explain-message.ts'
/** What the console makes forms of. */
const FORMS = [
  ...['AssistantBody', 'JobBody', 'ActionBody', 'ConfigBody', 'WorkflowBody', 'StepBody', 'TaskBody'],
  ...['CannedReplyBody', 'ChannelBody'],
]

/** The texts of the console in English. */
interface Messages {
  /** ICU messages, of the code. */
  composed: Set<string>
  /** Texts of the API and the providers, which are shown as they are. */
  plain: Set<string>
  /** What somebody would read, and is in no catalogue. */
  outside: string[]
}

/** A catalogue: the texts of a language, under the English ones. */
type Catalogue = Record<string, string>

/** The languages that have a catalogue. */
export const TRANSLATED = LANGUAGES.map(({ tag }) => tag).filter((tag) => tag !== 'en')

const fileOf = (language: string) => `gateway/console/languages/${language}.json`

export const readCatalogue = (language: string): Catalogue =>
  JSON.parse(readFileSync(fileOf(language), 'utf8'))

/** Collects every text that the console shows. */
export async function readMessages(): Promise<Messages> {
  const own = await Promise.all(filesOfTree(CONSOLE).map((file) => textsOf(file)))
  const explained = await textsOf(EXPLANATION, { tables: true })
  return {
    composed: new Set([...own.flatMap(({ messages }) => messages), ...explained.messages]),
    plain: new Set([
      ...textsOfProviders(),
      ...Object.values(KINDS).map(({ description }) => description),
      ...textsOfForms(),
    ]),
    outside: [...own, explained].flatMap(({ outside }) => outside),
  }
}

/** Brings the catalogues in line with the code: what is new has no translation yet, what is gone goes. */
export async function writeCatalogues(): Promise<void> {
  const { composed, plain } = await readMessages()
  const all = [...new Set([...composed, ...plain])].toSorted()
  for (const language of TRANSLATED) {
    const known = readCatalogue(language)
    const catalogue = Object.fromEntries(all.map((message) => [message, known[message] ?? '']))
    writeFileSync(fileOf(language), `${JSON.stringify(catalogue, null, 2)}\n`)
  }
}

function textsOfProviders(): string[] {
  return allProviders().flatMap(({ description, settings, outbound }) => [
    description.title,
    ...(description.receiving?.instructions ?? []).filter((part) => typeof part === 'string'),
    ...settings.flatMap(({ label, note, replacing }) => [label, note, ...(replacing ? [replacing] : [])]),
    ...Object.values(outbound.advice ?? {}),
  ])
}

interface Described {
  description?: string
}

/** What is said of the fields of forms. */
function textsOfForms(): string[] {
  const { components } = openApiDocument() as {
    components: { schemas: Record<string, { properties?: Record<string, Described> }> }
  }
  return FORMS.flatMap((name) => Object.values(components.schemas[name]?.properties ?? {})).flatMap(
    ({ description }) => (description ? [description.replaceAll('`', '')] : []),
  )
}
