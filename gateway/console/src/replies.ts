import type { JsonObject } from '@parley/shared/json-object'
import type { MediaType } from '@parley/shared/providers/inbound'
import type { Provider } from '@parley/shared/providers/provider'
import type { Given, Template } from './templates.ts'

export type ReplyKind = 'text' | 'template' | 'media'

/** The typed parts of a reply, of each kind. */
export interface Draft {
  kind?: ReplyKind | undefined
  text: string
  template: string
  language: string
  /** The values for the template, by the keys of its fields. */
  filled: Readonly<Record<string, string>>
  /** The same of a template that is not known, in lines. */
  variables: string
  media: MediaType
  link: string
  caption: string
  /** Those that the provider has already, in the sequence in which they are sent; the text is the caption of the first. */
  files: readonly SentFile[]
  /** The message of the conversation that the reply quotes. */
  quoted?: { _id: string; text: string } | undefined
}

/** A file that the provider has. */
export interface SentFile {
  _id: string
  type: MediaType
  name: string
  bytes: number
  /** When it was attached, in milliseconds since the epoch. */
  at: number
}

const EMPTY: Draft = {
  text: '',
  template: '',
  language: '',
  filled: {},
  variables: '',
  media: 'image',
  link: '',
  caption: '',
  files: [],
}

/** A draft as it is stored, which an earlier version may have written. */
export const draftOf = (stored: Partial<Draft> | undefined): Draft => ({ ...EMPTY, ...stored })

/** The body of a reply: a text, a template, or under a provider's name an object of its own. */
export type Reply = JsonObject & { text?: string; template?: string; language?: string }

interface Replying {
  kind: ReplyKind
  draft: Draft
  provider: Provider
  /** The template that is chosen, where it is known. */
  template: Template | undefined
}

/** Returns the replies to send for a draft, in sequence; none while something of the draft is missing. */
export function repliesOf(replying: Replying): Reply[] {
  const { quoted } = replying.draft
  const [first, ...others] = unquoted(replying)
  if (first === undefined) return []
  const isQuoting = quoted !== undefined && replying.kind !== 'template'
  return [isQuoting ? { ...first, quoted: quoted._id } : first, ...others]
}

function unquoted({ kind, draft, provider, template }: Replying): Reply[] {
  switch (kind) {
    case 'text':
      return [...filesOf(draft, provider), ...textOf(draft)]
    case 'template':
      return listOf(template === undefined ? typedTemplate(draft) : filledTemplate(draft, provider, template))
    case 'media':
      return listOf(linkedMedia(draft, provider))
  }
}

const listOf = (reply: Reply | undefined): Reply[] => (reply === undefined ? [] : [reply])

const WITHOUT_CAPTION: readonly MediaType[] = ['audio', 'sticker']

/** True if the text is the caption of the first file. */
const isCaption = ({ files: [first], text }: Draft): boolean =>
  first !== undefined && !WITHOUT_CAPTION.includes(first.type) && text.length <= MAX_CAPTION
/** As providers take it. */
const MAX_CAPTION = 1_024

const textOf = (draft: Draft): Reply[] =>
  draft.text.trim() === '' || isCaption(draft) ? [] : [{ text: draft.text }]

function filesOf(draft: Draft, { name: provider, outbound }: Provider): Reply[] {
  const { objects } = outbound
  if (objects === undefined) return []
  return draft.files.map(({ _id: id, type, name: fileName }, at) => {
    const caption = at === 0 && isCaption(draft) && draft.text.trim() !== '' ? draft.text : undefined
    const media = { type, from: { id }, fileName, ...(caption !== undefined && { caption }) }
    return { [provider]: objects.ofMedia(media) }
  })
}

/** With placeholders for what is not filled in. */
export function givenTo({ filled }: Draft, { templates }: Provider, template: Template): Given {
  const { name, language } = template
  const fields = templates?.fieldsOf(template) ?? []
  const values = fields.flatMap(({ key, type }) => {
    const value = filled[key]?.trim()
    return value ? [[key, type === 'time' ? new Date(value).toISOString() : value]] : []
  })
  return { ...templates?.argumentsOf(template, Object.fromEntries(values)), template: name, language }
}

function filledTemplate(draft: Draft, provider: Provider, template: Template): Reply | undefined {
  const fields = provider.templates?.fieldsOf(template) ?? []
  const isWhole = fields.every(({ key }) => draft.filled[key]?.trim())
  return isWhole ? givenTo(draft, provider, template) : undefined
}

function typedTemplate({ template, language, variables }: Draft): Reply | undefined {
  if (template.trim() === '' || language.trim() === '') return undefined
  return { template: template.trim(), language: language.trim(), variables: variablesOf(variables) }
}

const NAMED = /^\s*([a-z][a-z0-9_]*)\s*=\s*(\S.*?)\s*$/

/** The lines in order, or by name where each has one. */
function variablesOf(text: string): string[] | Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const pairs = lines.flatMap((line) => {
    const [, name, value] = NAMED.exec(line) ?? []
    return name === undefined ? [] : [[name, value ?? '']]
  })
  return pairs.length > 0 && pairs.length === lines.length ? Object.fromEntries(pairs) : lines
}

function linkedMedia({ media, link, caption }: Draft, { name, outbound }: Provider): Reply | undefined {
  if (outbound.objects === undefined || !/^https?:\/\/\S+$/.test(link)) return undefined
  return {
    [name]: outbound.objects.ofMedia({ type: media, from: { link }, ...(caption !== '' && { caption }) }),
  }
}

/** Returns the current draft without the file at a place of the sent draft, once that file has gone. */
export function withoutFile(now: Draft, sent: Draft, at: number): Draft {
  const files = now.files.filter(({ _id }) => _id !== sent.files[at]?._id)
  const isTextGone = isCaption(sent) && now.text === sent.text
  return { ...now, files, quoted: undefined, ...(isTextGone && { text: '' }) }
}

/** Returns the draft that is left once a reply of a kind has gone: the text typed meanwhile, and the other kinds. */
export function withoutSent(now: Draft, { sent, kind }: { sent: Draft; kind: ReplyKind }): Draft {
  const left = { ...now, kind: undefined, quoted: undefined }
  if (kind === 'media') return { ...left, link: '', caption: '' }
  if (kind === 'template') return { ...left, quoted: now.quoted, template: '', filled: {}, variables: '' }
  const files = now.files.filter(({ _id }) => !sent.files.some((file) => file._id === _id))
  return { ...left, files, text: now.text === sent.text ? '' : now.text }
}

/** The draft with a file that the provider has by now: files are in the order in which they were attached, not in which they got there. */
export function withFile({ files, ...draft }: Draft, file: SentFile): Draft {
  return { ...draft, files: [...files, file].toSorted((one, other) => one.at - other.at) }
}

/** True if no kind of reply has a typed value. */
export const isEmpty = ({ text, template, variables, link, caption, files, quoted }: Draft): boolean =>
  [text, template, variables, link, caption].every((one) => one === '') &&
  files.length === 0 &&
  quoted === undefined
