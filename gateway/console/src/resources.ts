import { KINDS, type ResourceName } from '@parley/shared/configuration-resources'
import type { Assistant, Job } from '@parley/shared/documents/assistant'
import type { Task } from '@parley/shared/documents/workflow'
import { call, callTagged, listAll, type Page } from './api.ts'
import { bodyBefore, type Change } from './deleted.ts'
import { numbered } from './format.ts'
import { t, translated } from './language.ts'
import { may } from './rights.ts'

/** Resources whose documents have a page elsewhere than below `/assistants`. */
const PAGES: Record<string, string> = { channels: '/channels', subscriptions: '/events' }

/** A document of the configuration, of any resource. */
export type Document = { _id: number; updatedAt: string } & Partial<
  Pick<Assistant, 'name'> & Pick<Job, 'role'> & Pick<Task, 'extId'>
> &
  Record<string, unknown>

interface Resource {
  /** Its name in paths. */
  path: string
  /** Of one document, in words. */
  one: string
  /** The name of what a form of it sends. */
  schema: string
  many: string
  /** The label of the button that makes a new one. */
  create: string
  /** The text that is shown where there are none. */
  none: string
  about: string
  /** The resources that fields refer to, by the field's name. */
  references: Record<string, string>
}

type Texts = Pick<Resource, 'one' | 'many' | 'create' | 'none'>

const TEXTS: Record<Exclude<ResourceName, 'channels' | 'subscriptions'>, Texts> = {
  assistant: {
    ...{ one: t('Assistant'), many: t('Assistants') },
    ...{ create: t('New assistant'), none: t('No assistants yet') },
  },
  jobs: { one: t('Job'), many: t('Jobs'), create: t('New job'), none: t('No jobs yet') },
  actions: { one: t('Action'), many: t('Actions'), create: t('New action'), none: t('No actions yet') },
  configs: { one: t('Config'), many: t('Configs'), create: t('New config'), none: t('No configs yet') },
  workflows: {
    ...{ one: t('Workflow'), many: t('Workflows') },
    ...{ create: t('New workflow'), none: t('No workflows yet') },
  },
  steps: { one: t('Step'), many: t('Steps'), create: t('New step'), none: t('No steps yet') },
  tasks: { one: t('Task'), many: t('Tasks'), create: t('New task'), none: t('No tasks yet') },
  replies: {
    ...{ one: t('Canned reply'), many: t('Replies') },
    ...{ create: t('New canned reply'), none: t('No replies yet') },
  },
}

const resource = (path: keyof typeof TEXTS): Resource => {
  const { title, description, references } = KINDS[path]
  const about = translated(description).replace(/\.$/, '').replaceAll('`', '')
  return { ...TEXTS[path], path, schema: `${title}Body`, about, references }
}

/** Those that have no page of their own. */
export const RESOURCES: readonly Resource[] = (Object.keys(TEXTS) as (keyof typeof TEXTS)[]).map(resource)

/** The fields of a channel's settings stand by themselves in a form. */
export const CHANNEL_REFERENCES = { assistantId: 'assistant' }

export const titleOf = ({ _id, name, role }: Document): string => name || role || numbered(_id)

/** The documents that a field may refer to, as choices. */
export async function choicesOf(path: string): Promise<{ value: number; name: string }[]> {
  const documents = await listAll<Document>(`/rest/${path}`)
  return documents.map((one) => ({ value: one._id, name: `${titleOf(one)} (${one._id})` }))
}

/** The external ids of the first 200 channels, of those that may be read. */
export async function channelNames(): Promise<string[]> {
  if (!may('read', 'channels')) return []
  const { data } = await call<Page<{ extId: string }>>('GET', '/rest/channels', { query: { limit: 200 } })
  return [...new Set(data.map(({ extId }) => extId))]
}

/** A document as it was read, with the tag of that version. */
export interface Version<T = Document> {
  data: T
  etag: string | undefined
}

export const readDocument = <T = Document>(
  path: string,
  id: string,
  signal: AbortSignal,
): Promise<Version<T>> => callTagged<T>('GET', `/rest/${path}/${id}`, { signal })

/** The note that is shown before a document is deleted. */
export const ON_DELETE = t(
  'It can be undone for 20 seconds. Who may read all of its kind can restore it later, from its entry in the audit log.',
)

/** Deletes a document as it was read; the returned function puts it back under its number. */
export async function deleteDocument(path: string, { _id, ...body }: Document): Promise<() => Promise<void>> {
  await call('DELETE', `/rest/${path}/${_id}`)
  return async () => {
    const { createdAt: _createdAt, updatedAt: _updatedAt, ...own } = body
    await call('PUT', `/rest/${path}/${_id}`, { body: own })
  }
}

/** Brings back what was deleted, under its number. Refused with 412 where another one has that by now. */
export const restoreDocument = (path: string, id: string, deletion: Change): Promise<unknown> =>
  call('PUT', `/rest/${path}/${id}`, { body: bodyBefore(deletion), headers: { 'if-none-match': '*' } })

interface ChangeOf {
  body: object
  over: Version<unknown>
}

/** Puts a document in place of the version that was read. Refused with 412 where somebody changed it since. */
export const replaceDocument = <T = Document>(
  path: string,
  id: string,
  { body, over }: ChangeOf,
): Promise<Version<T>> => callTagged<T>('PUT', `/rest/${path}/${id}`, { body, headers: onlyOver(over) })

/** Changes a part of the version that was read. Refused with 412 where somebody changed it since. */
export const patchDocument = <T = Document>(
  path: string,
  id: string,
  { body, over }: ChangeOf,
): Promise<Version<T>> => callTagged<T>('PATCH', `/rest/${path}/${id}`, { body, headers: onlyOver(over) })

/** The header that lets a change be made to that version only. A proxy that compresses has made its tag a weak one. */
const onlyOver = ({ etag }: Version<unknown>): Record<string, string> =>
  etag === undefined ? {} : { 'if-match': etag.replace(/^W\//, '') }

/** Something that `/rest/check` finds wrong. */
export interface Finding {
  code: string
  resource: string
  _id: number
  path: string
  message: string
}

/** The page of the document that a finding is about, below `/console`. */
export function hrefOfFinding({ resource, _id }: Pick<Finding, 'resource' | '_id'>): string {
  return `${PAGES[resource] ?? `/assistants/${resource}`}/${_id}`
}
