import { readFileSync, writeFileSync } from 'node:fs'
import { KINDS } from '@parley/shared/configuration-resources'
import { errors } from '@parley/shared/errors'
import { LANGUAGES } from '@parley/shared/languages'
import { allProviders } from '@parley/shared/providers/registry'
import { filesOfTree } from '../tests/source/modules.ts'
import { allTextsOf, problemTextsOf, textsOf } from '../tests/source/texts.ts'
import { openApiDocument } from './openapi/document.ts'

const CONSOLE = /^gateway\/console\/src\/.*(?<!\.d)\.tsx?$/
const EXPLANATION = 'shared/src/explain-message.ts'
/** Schemas that the console makes forms of. */
const FORMS = [
  ...['AssistantBody', 'JobBody', 'ActionBody', 'ConfigBody', 'WorkflowBody', 'StepBody', 'TaskBody'],
  ...['CannedReplyBody', 'ChannelBody'],
]

const SERVICES = /^(?:gateway|services\/[^/]+|shared)\/src\/.*\.ts$/
/** Files that explain problems of a configuration and the grants of a role; they contain no other texts. */
const EXPLAINED =
  /^(?:services\/configuration\/src\/check\/.*|shared\/src\/foreign-document|shared\/src\/permission\/(?:by-reference|explain|parse|syntax|entry)|shared\/src\/providers\/[^/]+\/api)\.ts$/
/** The provider's rules for templates; both the console and the services apply them. */
const TEMPLATES = /^shared\/src\/providers\/[^/]+\/template-(?:draft|fields)\.ts$/
/** Why something is not there or did not happen, in sentences among other texts. */
const REASONS =
  /^(?:services\/dispatcher\/src\/(?:agents\/(?:kinds\/transcriber|load-agent|model\/(?:model-client|transcribe)|trial\/run-trial|turns\/(?:model-calls|silence)|usage\/usage)|channels\/(?:account\/check-account|endpoints\/endpoints|handle|http\/call-outcome|media\/upload-media|provider-callback)|deliver\/(?:ask-model|decide|decide-turn|make-call|perform)|outgoing\/(?:deliver-batch|deliver-shard|mark-receiver)|message\/(?:delivery|outcome|progress)|statuses\/(?:apply-statuses|read-status))|shared\/src\/providers\/(?:http|[^/]+\/(?:account|addresses|codes|outcome)))\.ts$/
/** The same with parts of sentences, of which they are composed. */
const COMPOSED_REASONS =
  /^(?:services\/dispatcher\/src\/(?:agents\/(?:model\/(?:choices|model-failure)|tools\/(?:discover-tools|mcp-(?:failure|listing|session|tools)|open-toolbox|operation-tools))|channels\/http\/bound-credentials|functions\/(?:access-tokens|bindings|configured-bindings|find-action|find-authorization-server|operation|operation-call|parameter|register-client|request-body|request-token|spec-document|spec-task|tool-list))|shared\/src\/providers\/[^/]+\/template-fit)\.ts$/
/** How reasons are composed of others, and of what others say. */
const IN_REASONS = ['{0} ({1})', '{0}: {1}']
/** Messages of schemas about a field, as zod words them, and the words that are inserted into them. */
const OF_SCHEMAS = [
  'is required',
  'Invalid input: expected {0}, received {1}',
  'Invalid option: expected one of {0}',
  'Too small: expected {0} to have >={1} characters',
  'Too small: expected {0} to have >={1} items',
  'Too small: expected {0} to be >={1}',
  'Too small: expected {0} to be >{1}',
  'Too big: expected {0} to have <={1} characters',
  'Too big: expected {0} to have <={1} items',
  'Too big: expected {0} to be <={1}',
  'Unrecognized key: {0}',
  'Unrecognized keys: {0}',
  'Invalid email address',
  'Invalid URL',
  'Invalid ISO datetime',
  'Invalid input',
  ...['read', 'write', 'string', 'number', 'int', 'array', 'object', 'boolean', 'undefined', 'null'],
]

/** Words that are inserted into texts of `EXPLAINED`, and into those of templates. */
const IN_EXPLAINED = ['all', 'some', 'ended', 'ends', 'and']
const IN_TEMPLATES = ['latitude', 'longitude', 'name', 'address', 'image', 'video', 'gif', 'document']

/** The texts of the console in English. */
interface Messages {
  /** ICU messages, of the code. */
  composed: Set<string>
  /** Texts of the API and the providers, which are shown as they are. */
  plain: Set<string>
  /** Texts that a user would read and that no catalogue has. */
  outside: string[]
}

/** A catalogue: the texts of a language, under the English ones. */
type Catalogue = Record<string, string>

/** The languages that have a catalogue. */
export const TRANSLATED = LANGUAGES.map(({ tag }) => tag).filter((tag) => tag !== 'en')

/** Where catalogues are: those of the console, and those of problems. */
type Folder = 'gateway/console/src/languages' | 'shared/src/problem-texts'

export const readCatalogue = (folder: Folder, language: string): Catalogue =>
  JSON.parse(readFileSync(`${folder}/${language}.json`, 'utf8'))

/** Collects the texts of problems: titles, and details that the code has. What others said is no part of them. */
export async function readProblemTexts(): Promise<Set<string>> {
  const titles = Object.values(errors).map(({ title }) => title)
  const details = await Promise.all(filesOfTree(SERVICES).map(problemTextsOf))
  const explained = await Promise.all(filesOfTree(EXPLAINED).map(allTextsOf))
  return new Set([
    ...titles,
    ...details.flat(),
    ...explained.flat(),
    ...IN_EXPLAINED,
    ...(await textsOfTemplates()),
    ...OF_SCHEMAS,
  ])
}

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
      ...(await textsOfTemplates()),
      ...(await textsOfReasons()),
    ]),
    outside: [...own, explained].flatMap(({ outside }) => outside),
  }
}

/** Brings the catalogues in line with the code: what is new has no translation yet, what is gone goes. */
export async function writeCatalogues(): Promise<void> {
  const { composed, plain } = await readMessages()
  write('gateway/console/src/languages', new Set([...composed, ...plain]))
  write('shared/src/problem-texts', await readProblemTexts())
}

function write(folder: Folder, all: ReadonlySet<string>): void {
  for (const language of TRANSLATED) {
    const known = readCatalogue(folder, language)
    const catalogue = Object.fromEntries([...all].toSorted().map((text) => [text, known[text] ?? '']))
    writeFileSync(`${folder}/${language}.json`, `${JSON.stringify(catalogue, null, 2)}\n`)
  }
}

async function textsOfTemplates(): Promise<string[]> {
  const texts = await Promise.all(filesOfTree(TEMPLATES).map(allTextsOf))
  return [...texts.flat(), ...IN_TEMPLATES]
}

async function textsOfReasons(): Promise<string[]> {
  const [whole, composed] = await Promise.all(
    [REASONS, COMPOSED_REASONS].map(async (files) =>
      (await Promise.all(filesOfTree(files).map(allTextsOf))).flat(),
    ),
  )
  const isSentence = (text: string) => /^(?:[A-Z]|\{0\} ).*\.$/.test(text)
  // Contents of headers are not shown to anybody.
  const isText = (text: string) => !/\*\/\*|^Basic /.test(text)
  return [...(whole ?? []).filter(isSentence), ...(composed ?? []).filter(isText), ...IN_REASONS]
}

function textsOfProviders(): string[] {
  return allProviders().flatMap(({ description, settings, outbound }) => [
    description.title,
    ...(description.receiving?.instructions ?? []).filter((part) => typeof part === 'string'),
    ...settings.flatMap(({ label, note, replacing, missing }) => [
      ...[label, note],
      ...[replacing, missing].filter((text) => text !== undefined),
    ]),
    ...Object.values(outbound.advice ?? {}),
  ])
}

interface Described {
  description?: string
  properties?: Record<string, Described>
}

/** Returns the descriptions of the fields of forms, and of the settings in them. */
function textsOfForms(): string[] {
  const { components } = openApiDocument() as {
    components: { schemas: Record<string, Described> }
  }
  const propertiesOf = ({ properties = {} }: Described = {}): Described[] => Object.values(properties)
  const fields = FORMS.flatMap((name) => propertiesOf(components.schemas[name]))
  return [...fields, ...fields.flatMap(propertiesOf)].flatMap(({ description }) =>
    description ? [description.replaceAll('`', '')] : [],
  )
}
